# Biases and channel sums by hand.
BiasAdd([[1, 2], [3, 4]], [10, 20])                         = [[11, 22], [13, 24]]
BiasAdd([[[1, 2], [3, 4]]], [10, 20], data_format = "NCHW") = [[[11, 12], [23, 24]]]
BiasAdd([[1, 2]], [1, 2, 3])                                : cannot add bias [3] to dimension 1 of [1,2]
BiasAdd([1, 2], [1, 2])                                     : the value has shape [2], expected at least two dimensions
BiasAddV1([[1, 2], [3, 4]], [10, 20])                       = [[11, 22], [13, 24]]
BiasAddGrad([[1, 2], [3, 4]])                               = [4, 6]
BiasAddGrad([[[1, 2], [3, 4]]], data_format = "NCHW")       = [3, 7]
BiasAdd([[[1, 2], [3, 4]]], [10, 20])                       = [[[11, 22], [13, 24]]]
BiasAdd([[], []], [])                                       = [[], []]
BiasAdd(f32([[inf, nan]]), f32([-inf, 1]))                  = [[nan, nan]]
BiasAddV1([1], [1])                                         : expected at least two dimensions
BiasAddV1([[1, 2]], [1, 2, 3])                              : cannot add bias [3]
BiasAddGrad([[[[1, 2]], [[3, 4]]]])                         = [4, 6]
BiasAddGrad([1, 2])                                         : expected at least two dimensions
