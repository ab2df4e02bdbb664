# exp(ln n) = n.
Softmax([[0, 0, 0, 0], [0, 0.6931471805599453, 1.3862943611198906, 0]]) = [[0.25, 0.25, 0.25, 0.25], [0.125, 0.25, 0.5, 0.125]]
Softmax([1000, 1000])                                       = [0.5, 0.5]
Softmax([[nan, 1]])                                         = [[nan, nan]]
Softmax(1.5)                                                : logits are a scalar, expected at least one dimension
LogSoftmax([0, 0])                                          = [-0.6931471805599453, -0.6931471805599453]
LogSoftmax([0, -1000])                                      = [0, -1000]
Softmax([[-inf, 0]])                                        = [[0, 1]]
Softmax([[inf, 0]])                                         = [[nan, nan]]
Softmax(f32([[-2, nan, 1]]))                                = [[nan, nan, nan]]
Softmax(f32([[-inf, -inf]]))                                = [[nan, nan]]
Softmax(f32([[-0.0, -80, 0]]))                              = [[0.5, 9.0242570e-36, 0.5]]
Softmax(f32([[3]]))                                         = [[1]]
LogSoftmax(f32([[0, -1000]]))                               = [[0, -1000]]
Softmax([[], []])                                           = [[], []]
Softmax([[[0, 0]]])                                         = [[[0.5, 0.5]]]
LogSoftmax([[nan, 1]])                                      = [[nan, nan]]
LogSoftmax(1)                                               : logits are a scalar
