# Tensors divided.
Unpack([[1, 2], [3, 4]], num = 2)                           = [1, 2], [3, 4]
Unpack([[1, 2], [3, 4]], num = 2, axis = 1)                 = [1, 3], [2, 4]
Unpack([[1, 2], [3, 4]], num = 3)                           : cannot unpack dimension 0 of [2,2], expected size 3
Unpack(1, num = 1)                                          : axis 0 is out of range
Split(0, [1, 2, 3, 4], num_split = 2)                       = [1, 2], [3, 4]
Split(-1, [[1, 2], [3, 4]], num_split = 2)                  = [[1], [3]], [[2], [4]]
Split(0, [1, 2, 3], num_split = 2)                          : cannot split dimension 0 of [3] into 2 equal parts
Split(1, [1, 2], num_split = 2)                             : axis 1 is out of range
SplitV([1, 2, 3, 4, 5], [2, -1], 0, num_split = 2)          = [1, 2], [3, 4, 5]
SplitV([1, 2, 3], [0, 3], 0, num_split = 2)                 = [], [1, 2, 3]
SplitV([1, 2, 3], [1, 1], 0, num_split = 2)                 : sizes add up to 2, which does not fit dimension 0 of [3]
SplitV([1, 2, 3], [-1, -1], 0, num_split = 2)               : size 1 is -1, expected 0 or more; one size may be -1
SplitV([1, 2, 3], [3], 0, num_split = 2)                    : there are 1 sizes for 2 parts
Split(0, [[], []], num_split = 2)                           = [[]], [[]]
Split(0, 1, num_split = 1)                                  : axis 0 is out of range
SplitV(["a", "b", "c"], [1, 2], 0, num_split = 2)           = ["a"], ["b", "c"]
SplitV([[1, 2, 3]], [2, 1], 1, num_split = 2)               = [[1, 2]], [[3]]
Unpack([[[1], [2]]], num = 2, axis = 1)                     = [[1]], [[2]]
Unpack(["a", "b"], num = 2)                                 = "a", "b"
