# Sums of several tensors.
AddN([[1, 2], [10, 20], [100, 200]])                        = [111, 222]
AddN([[1, 2]])                                              = [1, 2]
AddN([[1, 2], [1]])                                         : inputs must have equal shapes, not [2] and [1]
AddN([[[1], [2]], [[10], [20]]])                            = [[11], [22]]
AddN([5])                                                   = 5
AddN([f32([1, nan]), f32([inf, 1])])                        = [inf, nan]
AddN([[], []])                                              = []
AddN([i8([100, -100]), i8([100, -100])])                    = [-56, 56]
AddN([[1, 2], [[1, 2]]])                                    : shape
AccumulateNV2([[1, 2], [3, 4], [5, 6]], shape = [2])       = [9, 12]
AccumulateNV2([[1, 2], [3, 4]], shape = [3])               : the attribute shape is [3], but the inputs are [2]
