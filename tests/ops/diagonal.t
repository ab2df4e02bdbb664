# Diagonals and bands; the padded ones are TensorFlow's documented examples.
Diag([1, 2])                                                = [[1, 0], [0, 2]]
Diag([[1, 2]])                                              = [[[[1, 0]], [[0, 2]]]]
Diag(1)                                                     : diagonal has shape [], expected 1 to 4 dimensions
DiagPart([[1, 2], [3, 4]])                                  = [1, 4]
DiagPart([[1, 2]])                                          : [1,2] has no diagonal
MatrixDiag([[1, 2], [3, 4]])                                = [[[1, 0], [0, 2]], [[3, 0], [0, 4]]]
MatrixDiag(1)                                               : diagonal has shape [], expected 1 to 7 dimensions
MatrixDiagPart([[1, 2, 3], [4, 5, 6]])                      = [1, 5]
MatrixDiagPart([1, 2])                                      : input has shape [2], expected matrices
MatrixDiagV3([1, 2], 1, -1, -1, 9)                          = [[9, 1, 9], [9, 9, 2], [9, 9, 9]]
MatrixDiagV3([1, 2], -1, 3, 2, 0)                           = [[0, 0], [1, 0], [0, 2]]
MatrixDiagV3([[0, 8, 9], [1, 2, 3], [4, 5, 0]], [-1, 1], -1, -1, 0) = [[1, 8, 0], [4, 2, 9], [0, 5, 3]]
MatrixDiagV3([[8, 9, 0], [1, 2, 3], [0, 4, 5]], [-1, 1], -1, -1, 0, align = "LEFT_RIGHT") = [[1, 8, 0], [4, 2, 9], [0, 5, 3]]
MatrixDiagV3([1, 2], 0, 3, 3, 0)                            : require a matrix of at least 2 by 2, with one of these sizes exact, not 3 by 3
MatrixDiagV3([1, 2], [0, 1], -1, -1, 0)                     : diagonal has shape [2], expected 2 to 8 dimensions
MatrixDiagV3([[5], [7]], [1, 2], -1, -1, 0)                          = [[0, 7], [0, 0]]
MatrixDiagV3([[5], [7]], [-2, -1], -1, -1, 0)                        = [[0, 0], [5, 0]]
MatrixDiagV3([[5, 6], [7, 8], [9, 1]], [1, 3], -1, -1, 0, align = "LEFT_LEFT") = [[0, 9, 7], [0, 0, 1], [0, 0, 0]]
MatrixDiagPartV3([[1, 2, 3], [4, 5, 6]], 1, 0)              = [2, 6]
MatrixDiagPartV3([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], [-1, 2], 0) = [[0, 3, 8], [2, 7, 12], [1, 6, 11], [5, 10, 0]]
MatrixDiagPartV3([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], [-1, 2], 0, align = "LEFT_RIGHT") = [[3, 8, 0], [2, 7, 12], [1, 6, 11], [0, 5, 10]]
MatrixDiagPartV3([[1, 2], [3, 4]], 2, 0)                    : has no diagonals 2 to 2
MatrixDiagPartV3([[1, 2], [3, 4]], [1, 0], 0)               : is above the highest
MatrixBandPart([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 1, 0)     = [[1, 0, 0], [4, 5, 0], [0, 8, 9]]
MatrixBandPart([[1, 2], [3, 4]], 0, -1)                     = [[1, 2], [0, 4]]
MatrixBandPart([[1, 2], [3, 4]], 3, 0)                      : [2,2] does not have 3 diagonals below the main one
MatrixBandPart([1], 0, 0)                                   : input has shape [1], expected matrices
MatrixSetDiag([[1, 2], [3, 4]], [8, 9])                      = [[8, 2], [3, 9]]
MatrixSetDiagV2([[1, 2, 3], [4, 5, 6]], [8, 9], 1)           = [[1, 8, 3], [4, 5, 9]]
MatrixSetDiagV3([[1, 2, 3], [4, 5, 6]], [[0, 7], [8, 9]], [-1, 0]) = [[0, 2, 3], [8, 7, 6]]
MatrixSetDiagV3([[1, 2, 3], [4, 5, 6]], [7, 8, 9], 0)        : the band of [2,3] has shape [2]
