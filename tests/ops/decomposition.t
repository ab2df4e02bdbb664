# By hand, or from the product of the factors.
LogMatrixDeterminant([[0, 2], [3, 4]])                    = -1, 1.791759469228055
LogMatrixDeterminant([[[1, 2], [2, 5]], [[2, 0], [0, 2]]]) = [1, 1], [0, 1.3862943611198906]
LogMatrixDeterminant([[2, 1], [1, 3]])                    = 1, 1.6094379124341003
LogMatrixDeterminant([1, 2])                              : input has shape [2], expected square matrices
Lu([[1, 2], [4, 2]])                                      = [[4, 2], [0.25, 1.5]], [1, 0]
Lu([[1, 2], [2, 4]])                                      : matrix 0 cannot be inverted
Lu([[1, 2, 3]])                                           : expected square matrices
Qr([[3, 1], [4, 2]])                                      = [[-0.6, -0.8], [-0.8, 0.6]], [[-5, -2.2], [0, 0.4]]
Qr([[3], [4]])                                            = [[-0.6], [-0.8]], [[-5]]
Qr([[3], [4]], full_matrices = true)                      = [[-0.6, -0.8], [-0.8, 0.6]], [[-5], [0]]
Qr([[2, 4, 6]])                                           = [[1]], [[2, 4, 6]]
Qr([1])                                                   : input has shape [1], expected matrices
SelfAdjointEigV2([[2, 9], [0, 1]])                        = [1, 2], [[0, 1], [1, 0]]
SelfAdjointEigV2([[2, 0], [1, 2]], compute_v = false)     = [1, 3], []
SelfAdjointEigV2([[nan, 0], [1, 2]])                      : matrix 0 has no decomposition
SelfAdjointEigV2([[1, 2]])                                : expected square matrices
Svd([[3, 0], [0, 4]], compute_uv = false)                 = [4, 3], [], []
Svd([[0, 2], [0, 0], [0, 0]], compute_uv = false)         = [2, 0], [], []
Svd([[[3, 4]], [[0, 0]]], compute_uv = false)             = [[5], [0]], [], []
Svd([[2, 0], [0, 1]])                                     = [2, 1], [[1, 0], [0, 1]], [[1, 0], [0, 1]]
Svd([[2], [0]], full_matrices = true)                     = [2], [[1, 0], [0, 1]], [[1]]
Svd([[inf, 0], [0, 1]])                                   : matrix 0 has no decomposition
Svd([1])                                                  : input has shape [1], expected matrices
