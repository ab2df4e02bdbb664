# Windows over one row of a volume, as if it had one dimension.
MaxPool3D([[[[[1], [3], [2], [5]]]]], ksize = [1, 1, 1, 2, 1], strides = [1, 1, 1, 2, 1], padding = "VALID") = [[[[[3], [5]]]]]
MaxPool3D([[[[[1], [3], [2]]]]], ksize = [1, 1, 1, 2, 1], strides = [1, 1, 1, 2, 1], padding = "SAME")      = [[[[[3], [2]]]]]
MaxPool3D([[[[[1, 3]]], [[[4, 2]]]]], ksize = [1, 2, 1, 1, 1], strides = [1, 1, 1, 1, 1], padding = "VALID") = [[[[[4, 3]]]]]
MaxPool3D([[[[[1, 3, 2]]]]], ksize = [1, 1, 1, 1, 2], strides = [1, 1, 1, 1, 1], padding = "VALID", data_format = "NCDHW") = [[[[[3, 3]]]]]
MaxPool3D([[[[[1]]]]], ksize = [1, 1, 1, 1, 2], strides = [1, 1, 1, 1, 1], padding = "VALID")               : ksize is 1 in the batch and 2 in the channels
MaxPool3D([[[[1]]]], ksize = [1, 1, 1, 1, 1], strides = [1, 1, 1, 1, 1], padding = "VALID")                 : expected 5 dimensions
MaxPool3D([[[[[1]]]]], ksize = [1, 1, 1, 3, 1], strides = [1, 1, 1, 1, 1], padding = "VALID")               : does not fit
MaxPool3DGrad(f32([[[[[1], [3], [3]]]]]), f32([[[[[3], [3]]]]]), f32([[[[[1], [2]]]]]), ksize = [1, 1, 1, 2, 1], strides = [1, 1, 1, 1, 1], padding = "VALID") = [[[[[0], [3], [0]]]]]
MaxPool3DGrad(f32([[[[[1], [4], [3]]]]]), f32([[[[[4]]]]]), f32([[[[[1], [2]]]]]), ksize = [1, 1, 1, 2, 1], strides = [1, 1, 1, 1, 1], padding = "VALID")      : 'orig_output' has shape [1,1,1,1,1], expected [1,1,1,2,1]
MaxPool3DGrad(f64([[[[[1]]]]]), f64([[[[[1]]]]]), f32([[[[[1]]]]]), ksize = [1, 1, 1, 1, 1], strides = [1, 1, 1, 1, 1], padding = "VALID")      : expected the same type
MaxPool3DGradGrad([[[[[1], [4], [3]]]]], [[[[[4], [4]]]]], [[[[[5], [6], [7]]]]], ksize = [1, 1, 1, 2, 1], strides = [1, 1, 1, 1, 1], padding = "VALID") = [[[[[6], [6]]]]]
AvgPool3D([[[[[1], [3], [2]]]]], ksize = [1, 1, 1, 2, 1], strides = [1, 1, 1, 2, 1], padding = "SAME")      = [[[[[2], [2]]]]]
AvgPool3D([[[[[1], [3]], [[5], [7]]]]], ksize = [1, 1, 2, 2, 1], strides = [1, 1, 1, 1, 1], padding = "VALID") = [[[[[4]]]]]
AvgPool3DGrad([1, 1, 1, 3, 1], [[[[[2], [5]]]]], ksize = [1, 1, 1, 2, 1], strides = [1, 1, 1, 2, 1], padding = "SAME") = [[[[[1], [1], [5]]]]]
AvgPool3DGrad([1, 1, 1, -1, 1], [[[[[2], [5]]]]], ksize = [1, 1, 1, 2, 1], strides = [1, 1, 1, 2, 1], padding = "SAME") : negative dimension -1
AvgPool3DGrad([1, 1, 3, 1], [[[[[2], [5]]]]], ksize = [1, 1, 1, 2, 1], strides = [1, 1, 1, 2, 1], padding = "SAME")  : 'orig_input_shape' has 4 numbers, expected 5
