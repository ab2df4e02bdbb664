# By hand: triangles and rotations, whose functions are known, and diagonals.
Eig([[3, 0], [5, -1]], compute_v = false, Tout = c64)        = [-1, 3], []
Eig([[2, 0], [0, 1]], Tout = c64)                            = [1, 2], [[0, 1], [1, 0]]
Eig([[1, 2, 3]], Tout = c64)                                 : expected square matrices
Eig([[nan, 0], [1, 2]], Tout = c64)                          : matrix 0 has no decomposition
MatrixSquareRoot([[4, 1], [0, 9]])                           = [[2, 0.2], [0, 3]]
MatrixSquareRoot([[[0, -4], [4, 0]]])                        = [[[1.4142135, -1.4142135], [1.4142135, 1.4142135]]]
MatrixSquareRoot([[-4, 0], [0, 1]])                          = [[nan, nan], [nan, nan]]
MatrixSquareRoot([1])                                        : input has shape [1], expected square matrices
MatrixSquareRoot([[inf]])                                    : matrix 0 has no square root: an element is not finite
MatrixExponential([[0, 1], [-1, 0]])                         = [[0.540302306, 0.841470985], [-0.841470985, 0.540302306]]
MatrixExponential([[[0, 7], [0, 0]], [[1, 0], [0, -30]]])    = [[[1, 7], [0, 1]], [[2.718281828, 0], [0, 9.3576e-14]]]
MatrixExponential([[1, 2]])                                  : expected square matrices
MatrixLogarithm(c64([[1, 0], [0, 1]]))                       = c64([[0, 0], [0, 0]])
MatrixLogarithm(c64([[1, 7], [0, 1]]))                       = c64([[0, 7], [0, 0]])
MatrixLogarithm(c64([[0, 0], [0, 1]]))                       : matrix 0 has no logarithm: an eigenvalue is 0
