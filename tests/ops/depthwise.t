# Each channel by its own filters.
DepthwiseConv2dNative([[[[1, 2], [3, 4]]]], [[[[1], [10]], [[1], [10]]]], strides = [1, 1, 1, 1], padding = "VALID") = [[[[4, 60]]]]
DepthwiseConv2dNative([[[[1]]]], [[[[2, 3]]]], strides = [1, 1, 1, 1], padding = "SAME") = [[[[2, 3]]]]
DepthwiseConv2dNative([[[[1, 2]]]], [[[[2]]]], strides = [1, 1, 1, 1], padding = "SAME") : image [1,1,1,2] has 2 channels, filter [1,1,1,1] is for 1
DepthwiseConv2dNativeBackpropInput([1, 1, 2, 1], [[[[1]], [[10]]]], [[[[3]]]], strides = [1, 1, 1, 1], padding = "VALID") = [[[[3], [30]]]]
DepthwiseConv2dNativeBackpropFilter([[[[1], [2]]]], [1, 2, 1, 1], [[[[3]]]], strides = [1, 1, 1, 1], padding = "VALID") = [[[[3]], [[6]]]]
DepthwiseConv2dNative([[[[nan], [1]]]], [[[[2]]]], strides = [1, 1, 1, 1], padding = "SAME") = [[[[nan], [2]]]]
DepthwiseConv2dNative([[[[1, 2]]]], [[[[2], [3]]]], strides = [1, 1, 1, 1], padding = "SAME") = [[[[2, 6]]]]
DepthwiseConv2dNative([[1]], [[[[2]]]], strides = [1, 1, 1, 1], padding = "SAME") : the image has shape [1,1], expected 4 dimensions
DepthwiseConv2dNative([[[[1]]]], [[2]], strides = [1, 1, 1, 1], padding = "SAME") : the filter has shape [1,1], expected 4 dimensions
DepthwiseConv2dNativeBackpropInput([1, 1, -2, 1], [[[[2]]]], [[[[1]]]], strides = [1, 1, 1, 1], padding = "SAME") : element 2 of the sizes is -2, expected at least 0
