Dilation2D([[[[1], [5], [2]]]], [[[0], [1]]], strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "VALID")                 = [[[[6], [5]]]]
Dilation2D([[[[1], [5], [2]]]], [[[3], [1]]], strides = [1, 1, 2, 1], rates = [1, 1, 1, 1], padding = "SAME")                  = [[[[6], [5]]]]
Dilation2D([[[[1, 0], [5, 9], [2, 8]]]], [[[0, 0], [1, 2]]], strides = [1, 1, 1, 1], rates = [1, 1, 2, 1], padding = "VALID")  = [[[[3, 10]]]]
Dilation2D([[[[1, 0]]]], [[[0]]], strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "VALID")                             : expected equal channels
Dilation2D([[[[1]]]], [[0]], strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "VALID")                                  : the filter has shape [1,1], expected 3 dimensions
Dilation2D([[[[1]]]], [[[0]]], strides = [1, 0, 1, 1], rates = [1, 1, 1, 1], padding = "VALID")                                : attribute 'strides' contains 0
Dilation2D([[[[1], [2], [6]]]], [[[0.25], [0.5]]], strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "VALID")              = [[[[2.5], [6.5]]]]
Dilation2DBackpropInput([[[[1], [5], [2]]]], [[[0], [1]]], [[[[3], [4]]]], strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "VALID")  = [[[[0], [7], [0]]]]
Dilation2DBackpropInput([[[[1], [5], [2]]]], [[[0], [1]]], [[[[3]]]], strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "VALID")       : 'out_backprop' has shape [1,1,1,1], expected [1,1,2,1]
Dilation2DBackpropFilter([[[[1], [5], [2]]]], [[[0], [1]]], [[[[3], [4]]]], strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "VALID") = [[[4], [3]]]
