# By hand, or from the product that they invert.
Cholesky([[4, 2], [2, 10]])                                     = [[2, 0], [1, 3]]
Cholesky([[1, 2], [2, 1]])                                      = [[nan, 0], [nan, nan]]
Cholesky([[[1, 2], [2, 1]], [[4, 2], [2, 10]]])                 = [[[nan, 0], [nan, nan]], [[2, 0], [1, 3]]]
Cholesky([[1, 2, 3], [4, 5, 6]])                                : input has shape [2,3], expected square matrices
MatrixDeterminant([[0, 2], [3, 4]])                             = -6
MatrixDeterminant([[[2]], [[5]]])                               = [2, 5]
MatrixDeterminant([1, 2])                                       : input has shape [2], expected square matrices
MatrixInverse([[0, 2], [4, 0]])                                 = [[0, 0.25], [0.5, 0]]
MatrixInverse([[0, 2], [4, 0]], adjoint = true)                 = [[0, 0.5], [0.25, 0]]
MatrixInverse([[1, 2], [2, 4]])                                 : matrix 0 cannot be inverted
MatrixSolve([[0, 2], [4, 0]], [[2], [8]])                       = [[2], [1]]
MatrixSolve([[0, 2], [4, 0]], [[2], [8]], adjoint = true)       = [[4], [0.5]]
MatrixSolve([[0, 2], [4, 0]], [[2, 8]])                         : cannot solve for matrices [2,2] and right sides [1,2]: a matrix must have as many rows
MatrixSolve([[0, 0], [0, 0]], [[2], [8]])                       : matrix 0 cannot be inverted
MatrixTriangularSolve([[2, 9], [1, 4]], [[2], [9]])             = [[1], [2]]
MatrixTriangularSolve([[2, 1], [9, 4]], [[6], [8]], lower = false) = [[2], [2]]
MatrixTriangularSolve([[2, 9], [1, 4]], [[4], [8]], adjoint = true) = [[1], [2]]
MatrixTriangularSolve([[2]], [[[2]], [[4]]])                    = [[[1]], [[2]]]
MatrixTriangularSolve([[2, 1]], [[2]])                          : input has shape [1,2], expected square matrices
Cholesky(f32([[]]))                                         : expected square matrices
MatrixDeterminant([[2, 0, 0], [0, 3, 0], [0, 0, 4]])        = 24
MatrixInverse([[[2]], [[4]]])                               = [[[0.5]], [[0.25]]]
MatrixSolve([[[2]], [[4]]], [[[8, 2]], [[8, 2]]])           = [[[4, 1]], [[2, 0.5]]]
MatrixTriangularSolve([[2, 1], [0, 4]], [[6], [8]], lower = false, adjoint = true) = [[3], [1.25]]
