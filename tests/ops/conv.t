# Sums of products by hand: images of one channel, filters of ones.
Conv2D([[[[1], [2]], [[3], [4]]]], [[[[1]], [[1]]], [[[1]], [[1]]]], strides = [1, 1, 1, 1], padding = "VALID") = [[[[10]]]]
Conv2D([[[[1], [2]], [[3], [4]]]], [[[[1]], [[1]]], [[[1]], [[1]]]], strides = [1, 1, 1, 1], padding = "SAME") = [[[[10], [6]], [[7], [4]]]]
Conv2D([[[[1], [2]], [[3], [4]]]], [[[[1]]]], strides = [1, 2, 2, 1], padding = "SAME") = [[[[1]]]]
Conv2D([[[[1], [2], [3]]]], [[[[1]], [[1]]]], strides = [1, 1, 1, 1], padding = "VALID", dilations = [1, 1, 2, 1]) = [[[[4]]]]
Conv2D([[[[1, 2]]]], [[[[3, 4]]]], strides = [1, 1, 1, 1], padding = "VALID") = [[[[3, 8]]]]
Conv2D([[[[1, 2]], [[3, 4]]]], [[[[1]], [[1]]]], strides = [1, 1, 1, 1], padding = "VALID", data_format = "NCHW") : 1 outputs of filter [1,2,1,1] are not a multiple of 2 groups
Conv2D([[[[1], [2]]]], [[[[1]]]], strides = [1, 1, 1, 1], padding = "EXPLICIT", explicit_paddings = [0, 0, 0, 0, 1, 0, 0, 0]) = [[[[0], [1], [2]]]]
Conv2D([[[[1], [2]]]], [[[[1]]]], strides = [1, 0, 1, 1], padding = "SAME") : attribute 'strides' contains 0
Conv2D([[[[1], [2]]]], [[[[1]]]], strides = [1, 1, 1], padding = "SAME")    : attribute 'strides' has 3 numbers, expected 4
Conv2D([[[[1], [2]]]], [[[[1]]]], strides = [2, 1, 1, 1], padding = "SAME") : the batch dimension has stride 2 and dilation 1: both must be 1
Conv2D([[[[1], [2]]]], [[[[1]]]], strides = [1, 1, 1, 1], padding = "SAME", dilations = [1, 0, 1, 1]) : attribute 'dilations' contains 0
Conv2D([[[[1], [2]]]], [[[[1]]], [[[1]]], [[[1]]]], strides = [1, 1, 1, 1], padding = "VALID") : the window of 3 does not fit in the 1 of dimension 1
Conv2D([[[[1, 2, 3]]]], [[[[1], [2]]]], strides = [1, 1, 1, 1], padding = "SAME") : 3 channels of image [1,1,1,3] are not a multiple of the 2
Conv2D([[1]], [[[[1]]]], strides = [1, 1, 1, 1], padding = "SAME")          : the image has shape [1,1], expected 4 dimensions
Conv2D([[[[1]]]], [[1]], strides = [1, 1, 1, 1], padding = "SAME")          : the filter has shape [1,1], expected 4 dimensions
Conv2DBackpropInput([1, 1, 3, 1], [[[[1]], [[2]]]], [[[[1], [1]]]], strides = [1, 1, 1, 1], padding = "VALID") = [[[[1], [3], [2]]]]
Conv2DBackpropInput([1, 1, 3, 1], [[[[1]], [[2]]]], [[[[5]]]], strides = [1, 1, 2, 1], padding = "VALID") = [[[[5], [10], [0]]]]
Conv2DBackpropInput([1, 1, 3, 1], [[[[1]], [[2]]]], [[[[5]]]], strides = [1, 1, 1, 1], padding = "VALID") : the output's gradient has shape [1,1,1,1], expected [1,1,2,1]
Conv2DBackpropInput([1, 1, -3, 1], [[[[1]], [[2]]]], [[[[5]]]], strides = [1, 1, 1, 1], padding = "VALID") : element 2 of the sizes is -3, expected at least 0
Conv2DBackpropFilter([[[[1], [2], [3]]]], [1, 2, 1, 1], [[[[1], [10]]]], strides = [1, 1, 1, 1], padding = "VALID") = [[[[21]], [[32]]]]
Conv2DBackpropFilter([[[[1], [2], [3]]]], [1, 2, 1], [[[[1], [10]]]], strides = [1, 1, 1, 1], padding = "VALID") : sizes have shape [3], expected a vector of 4
Conv3D([[[[[1]]], [[[2]]]]], [[[[[1]]]], [[[[10]]]]], strides = [1, 1, 1, 1, 1], padding = "VALID") = [[[[[21]]]]]
Conv3D([[[[[1]]], [[[2]]]]], [[[[1]]]], strides = [1, 1, 1, 1, 1], padding = "VALID") : the filter has shape [1,1,1,1], expected 5 dimensions
Conv3DBackpropInputV2([1, 2, 1, 1, 1], [[[[[1]]]], [[[[10]]]]], [[[[[3]]]]], strides = [1, 1, 1, 1, 1], padding = "VALID") = [[[[[3]]], [[[30]]]]]
Conv3DBackpropFilterV2([[[[[1]]], [[[2]]]]], [2, 1, 1, 1, 1], [[[[[3]]]]], strides = [1, 1, 1, 1, 1], padding = "VALID") = [[[[[3]]]], [[[[6]]]]]
Conv3DBackpropFilterV2([[[[[1]]], [[[2]]]]], [2, 1, 1, 1, 1], [[[[[3]]]]], strides = [1, 1, 1, 1], padding = "VALID") : strides
