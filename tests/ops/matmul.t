# Products worked out by hand.
MatMul([[1, 2], [3, 4]], [[5], [6]])                        = [[17], [39]]
MatMul([[1, 2], [3, 4]], [[5], [6]], transpose_a = true)    = [[23], [34]]
MatMul([[1, 2]], [[3, 4], [5, 6]], transpose_b = true)      = [[11, 17]]
MatMul([[1], [2]], [[3, 4]], transpose_a = true, transpose_b = true) = [[11]]
MatMul([[1], [2]], [[3, 4]], transpose_a = true)            : cannot multiply [2,1] transposed by [1,2]
MatMul([[1, 2, 3]], [[1, 2, 3]])                            : cannot multiply [1,3] by [1,3]
MatMul([1, 2], [[1], [2]])                                  : inputs have shape [2] and [2,1], expected matrices
BatchMatMul([[[1, 2]], [[3, 4]]], [[[5], [6]], [[7], [8]]]) = [[[17]], [[53]]]
BatchMatMul([[[1, 2]], [[3, 4]]], [[[5, 6]], [[7, 8]]], adj_y = true) = [[[17]], [[53]]]
BatchMatMul([[[1, 2]]], [[[5], [6]], [[7], [8]]])           : batch dimensions differ: [1,1,2] and [2,2,1]
BatchMatMulV2([[[1, 2]]], [[[5], [6]], [[7], [8]]])         = [[[17]], [[23]]]
BatchMatMulV2([[[1, 2]], [[3, 4]]], [[5], [6]])             = [[[17]], [[39]]]
BatchMatMulV2([[1], [2]], [[[3], [4]]], adj_x = true)       = [[[11]]]
BatchMatMulV2([[1, 2]], [[3, 4]])                           : cannot multiply [1,2] by [1,2]
BatchMatMulV2([1, 2], [[3, 4]])                             : inputs have shape [2] and [1,2], expected matrices
BatchMatMulV2([[[1], [2]], [[3], [4]], [[5], [6]]], [[[1], [10]]], adj_x = true) = [[[21]], [[43]], [[65]]]
MatMul([[], []], [[]])                                      : cannot multiply
MatMul(f32([[inf, 0]]), f32([[0], [1]]))                    = [[nan]]
BatchMatMulV2([[[1]], [[2]]], [[3]])                        = [[[3]], [[6]]]
