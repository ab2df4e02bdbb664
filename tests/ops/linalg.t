# By hand, or from the product that they invert.
Einsum([[[1, 2], [3, 4]], [[5], [6]]], equation = "ij,jk->ik")  = [[17], [39]]
Einsum([[1, 2], [3, 4]], equation = "ij,j->i")                  : does not fit
Einsum([[[1, 2], [3, 4]]], equation = "ij->ji")                 = [[1, 3], [2, 4]]
Einsum([[[1, 2], [3, 4]]], equation = "ii->")                   = 5
Einsum([[1, 2]], equation = "i->ii")                            = [[1, 0], [0, 2]]
Einsum([[1, 2], [3, 4]], equation = "i,j->ij")                  = [[3, 4], [6, 8]]
Einsum([[1, 2], [3, 4]], equation = "i,j->")                    = 21
Einsum([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], equation = "...a,...a->...") = [17, 53]
Einsum([[1, 2]], equation = "i->j")                             : a label that no input has
Einsum([[1, 2]], equation = "i")                                : does not fit 1 inputs
Einsum([[1, 2]], equation = "i?->i")                            : is wrong at '?->i'
Einsum([[[1, 2]], [[3, 4]]], equation = "ij,jk->ik")            : a label stands for dims of 2 and 1
Cholesky([[4, 2], [2, 10]])                                     = [[2, 0], [1, 3]]
Cholesky([[1, 2], [2, 1]])                                      = [[nan, 0], [nan, nan]]
Cholesky([[[1, 2], [2, 1]], [[4, 2], [2, 10]]])                 = [[[nan, 0], [nan, nan]], [[2, 0], [1, 3]]]
Cholesky([[1, 2, 3], [4, 5, 6]])                                : needs square matrices, not [2,3]
MatrixDeterminant([[0, 2], [3, 4]])                             = -6
MatrixDeterminant([[[2]], [[5]]])                               = [2, 5]
MatrixDeterminant([1, 2])                                       : needs square matrices
MatrixInverse([[0, 2], [4, 0]])                                 = [[0, 0.25], [0.5, 0]]
MatrixInverse([[0, 2], [4, 0]], adjoint = true)                 = [[0, 0.5], [0.25, 0]]
MatrixInverse([[1, 2], [2, 4]])                                 : matrix 0 cannot be inverted
MatrixSolve([[0, 2], [4, 0]], [[2], [8]])                       = [[2], [1]]
MatrixSolve([[0, 2], [4, 0]], [[2], [8]], adjoint = true)       = [[4], [0.5]]
MatrixSolve([[0, 2], [4, 0]], [[2, 8]])                         : do not fit
MatrixSolve([[0, 0], [0, 0]], [[2], [8]])                       : matrix 0 cannot be inverted
MatrixTriangularSolve([[2, 9], [1, 4]], [[2], [9]])             = [[1], [2]]
MatrixTriangularSolve([[2, 1], [9, 4]], [[6], [8]], lower = false) = [[2], [2]]
MatrixTriangularSolve([[2, 9], [1, 4]], [[4], [8]], adjoint = true) = [[1], [2]]
MatrixTriangularSolve([[2]], [[[2]], [[4]]])                    = [[[1]], [[2]]]
MatrixTriangularSolve([[2, 1]], [[2]])                          : needs square matrices
