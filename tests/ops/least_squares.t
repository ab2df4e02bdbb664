# By hand: the mean is the constant nearest to numbers, and the regularizer is one more row of the square root of it.
MatrixSolveLs([[1], [1], [1]], [[1], [2], [6]], 0.0)                 = [[3]]
MatrixSolveLs([[1], [1], [1]], [[1], [2], [6]], 0.0, fast = false)   = [[3]]
MatrixSolveLs([[1], [1], [1]], [[1], [2], [6]], 3.0)                 = [[1.5]]
MatrixSolveLs([[1, 1]], [[6]], 0.0)                                  = [[3], [3]]
MatrixSolveLs([[1, 2], [2, 4]], [[5], [10]], 0.0, fast = false)      = [[1], [2]]
MatrixSolveLs([[0]], [[6]], 0.0)                                     : matrix 0 is not of full rank: fast = false may help
MatrixSolveLs([[1]], [[6]], -1.0)                                    : l2_regularizer is -1, expected at least 0
MatrixSolveLs([[1]], [[6], [7]], 0.0)                                : a matrix must have as many rows as its right side
MatrixSolveLs([1], [[6]], 0.0)                                       : input has shape [1], expected matrices
