# The largest elements of rows.
TopKV2([1, 3, 2, 3], 3)                                     = [3, 3, 2], [1, 3, 2]
TopKV2([[1, 2], [4, 3]], 1)                                 = [[2], [4]], [[1], [0]]
TopKV2([1, 2], 0)                                           = [], []
TopKV2(f32([nan, 1, inf]), 3)                               = [inf, 1, nan], [2, 1, 0]
TopKV2([1, 2], 3)                                           : k is 3, but the rows of [2] are shorter
TopKV2([1, 2], -1)                                          : k is -1
TopKV2(1, 1)                                                : input is a scalar, expected at least one dimension
TopK([1, 3, 2], k = 2)                                      = [3, 2], [1, 2]
TopK([1], k = 2)                                            : k is 2, but the rows of [1] are shorter
InTopK([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], [1, 2], k = 2)   = [true, false]
InTopK([[0.1, inf]], [0], k = 2)                            = [false]
InTopK([[0.1, 0.2]], [7], k = 2)                            = [false]
InTopK([[0.1]], [0, 0], k = 1)                              : differ in rows
InTopKV2([[0.4, 0.4, 0.2]], [1], 1)                         = [true]
InTopKV2([[0.1]], [0, 0], 1)                                : differ in rows
TopKV2([1, 3, 2, 3], 2)                                     = [3, 3], [1, 3]
TopKV2(f32([nan, 1, inf]), 2)                               = [inf, 1], [2, 1]
TopKV2([], 0)                                               = [], []
TopKV2([1], -1)                                             : k is -1, expected at least 0
TopK([[1, 2], [4, 3]], k = 1)                               = [[2], [4]], [[1], [0]]
InTopKV2(f32([[0.1, 0.9], [0.9, 0.1]]), [0, 0], 1)          = [false, true]
InTopKV2(f32([[nan, 1]]), [1], 1)                           = [false]
InTopK(f32([[1, 2]]), [5], k = 1)                           = [false]
InTopK(f32([[1, 2]]), [0, 1], k = 1)                        : differ in rows
NthElement([[4, 1, 3], [9, 7, 8]], 1)                        = [3, 8]
NthElement(f32([4, 1, 3]), 0, reverse = true)                = f32(4)
NthElement([4, 1, 3], 3)                                     : n is 3, outside of the rows of [3]
NthElement([4, 1, 3], -1)                                    : n is -1
NthElement(4, 0)                                             : input is a scalar
