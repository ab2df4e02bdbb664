# Tensors made from a few numbers.
Fill([2, 2], 7)                                             = [[7, 7], [7, 7]]
Fill([], 7)                                                 = 7
Fill([2, 0], 7)                                             = [[], []]
Fill([2], "ab")                                             = ["ab", "ab"]
Fill([2, -1], 7)                                            : dimension 1 of the shape is -1
Fill(i64([1099511627776, 1099511627776]), 7)                : larger than any memory
Fill([2], [7])                                              : input 1 has shape [1], expected a scalar
Range(0, 5, 2)                                              = [0, 2, 4]
Range(3, 0, -1)                                             = [3, 2, 1]
Range(3, 3, 1)                                              = []
Range(0.0, 1.0, 0.25)                                       = [0, 0.25, 0.5, 0.75]
Range(0, 3, 0)                                              : delta is 0
Range(3, 0, 1)                                              : cannot go from 3 to 0 in steps of 1
Range(f32(nan), f32(1), f32(1))                             : cannot go from nan
Range(f32(0), f32(1), f32(nan))                             : delta is nan
Range(i64(-4611686018427387904), i64(4611686018427387904), i64(1)) : larger than any memory
Range([0], 1, 1)                                            : input 0 has shape [1], expected a scalar
LinSpace(0, 1, 5)                                           = [0, 0.25, 0.5, 0.75, 1]
LinSpace(3, 4, 1)                                           = [3]
LinSpace(0, 1, 0)                                           : num is 0, expected at least 1
OneHot([0, 2, -1, 3], 3, 1, 0)                              = [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
OneHot([0, 1], 2, 5, -1, axis = 0)                          = [[5, -1], [-1, 5]]
OneHot(1, 3, 1, 0)                                          = [0, 1, 0]
OneHot([0], 0, 1, 0)                                        = [[]]
OneHot([0], -1, 1, 0)                                       : depth is -1, expected at least 0
OneHot([0], 2, 1, 0, axis = 2)                              : axis 2 is out of range
Fill([0], 7)                                                = []
Range(f32(0), f32(1), f32(0.25))                            = [0, 0.25, 0.5, 0.75]
LinSpace(f32(1), f32(5), 1)                                 = [1]
OneHot([1, -1, 3], 3, 1, 0)                                 = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
OneHot(1, 2, 5, 9)                                          = [9, 5]
Empty([2], dtype = f32)                                      = f32([0, 0])
Empty([2, -1], dtype = f32)                                  : dimension 1 of the shape is -1
