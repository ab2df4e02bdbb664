# Tensors joined.
ConcatV2([[[1, 2]], [[3, 4]]], 0)                           = [[1, 2], [3, 4]]
ConcatV2([[[1], [2]], [[3], [4]]], -1)                      = [[1, 3], [2, 4]]
ConcatV2([[1], [], [2, 3]], 0)                              = [1, 2, 3]
ConcatV2([["a"], ["b", "c"]], 0)                            = ["a", "b", "c"]
ConcatV2([[[1, 2]], [[3]]], 0)                              : inputs 0 and 1 have shapes [1,2] and [1,1], expected equal shapes except along axis 0
ConcatV2([[1], [2]], 1)                                     : axis 1 is out of range for rank 1
ConcatV2([1, 2], 0)                                         : input 0 is a scalar, and cannot be concatenated
Concat(1, [[[1], [2]], [[3], [4]]])                         = [[1, 3], [2, 4]]
Concat(2, [[[1], [2]], [[3], [4]]])                         : axis 2 is out of range
ConcatOffset(1, [[2, 3], [2, 5], [2, 1]])                   = [0, 0], [0, 3], [0, 8]
ConcatOffset(-2, [[2, 3], [4, 3]])                          = [0, 0], [2, 0]
ConcatOffset(1, [[2, 3], [4, 3]])                           : dimension 0 of input 2 is 4, expected 2 as in input 1
ConcatOffset(2, [[2, 3], [4, 3]])                           : axis 2 is out of range
Pack([[1, 2], [3, 4]])                                      = [[1, 2], [3, 4]]
Pack([[1, 2], [3, 4]], axis = -1)                           = [[1, 3], [2, 4]]
Pack([1, 2, 3])                                             = [1, 2, 3]
Pack([[1, 2], [3]])                                         : input 1 has shape [1], but those before it [2]: expected equal shapes
Pack([[1, 2], [3, 4]], axis = 2)                            : axis 2 is out of range
