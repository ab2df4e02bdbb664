# By hand.
TridiagonalMatMul([[1, 2, 9]], [[3, 4, 5]], [[9, 6, 7]], [[1], [10], [100]]) = [[13], [246], [570]]
TridiagonalMatMul([[1]], [[2]], [[3]], [[4, 5]])                             = [[8, 10]]
TridiagonalMatMul([[1, 2]], [[3, 4, 5]], [[9, 6, 7]], [[1], [10], [100]])    : input 0 has shape [1,2], expected [1,3]
TridiagonalMatMul([[1]], [[1]], [[1]], [1])                                  : the right side has shape [1], expected matrices
TridiagonalSolve([[1, 2, 9], [3, 4, 5], [9, 6, 7]], [[13], [246], [570]])    = [[1], [10], [100]]
TridiagonalSolve([[1, 9], [0, 0], [9, 2]], [[3], [8]])                       = [[4], [3]]
TridiagonalSolve([[1, 9], [0, 0], [9, 2]], [[3], [8]], partial_pivoting = false) : matrix 0 has a pivot that is 0: partial_pivoting may help
TridiagonalSolve([[0, 0], [0, 0], [0, 0]], [[3], [8]])                       : matrix 0 cannot be inverted
TridiagonalSolve([[1]], [[3]])                                               : input 0 has shape [1,1], expected [3,1]
TridiagonalSolve([[0], [2], [0]], [[3]], partial_pivoting = false, perturb_singular = true) : perturb_singular requires partial_pivoting
