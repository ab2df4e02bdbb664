# By hand; the first of equal elements counts.
MaxPool([[[[1], [2]], [[4], [3]]]], ksize = [1, 2, 2, 1], strides = [1, 2, 2, 1], padding = "VALID") = [[[[4]]]]
MaxPool([[[[1], [2], [3]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "SAME") = [[[[2], [3]]]]
MaxPool([[[[1, 2, 3]]]], ksize = [1, 1, 1, 2], strides = [1, 1, 1, 2], padding = "SAME", data_format = "NCHW") = [[[[2, 3]]]]
MaxPool([[[[-inf], [-inf]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "VALID") = [[[[-inf]]]]
MaxPool([[[[nan], [1]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "VALID") = [[[[nan]]]]
MaxPool([[[[1], [2]]]], ksize = [1, 0, 2, 1], strides = [1, 1, 1, 1], padding = "VALID") : attribute 'ksize' contains 0
MaxPool([[[[1], [2]]]], ksize = [1, 1, 2, 1], strides = [1, 0, 1, 1], padding = "VALID") : attribute 'strides' contains 0
MaxPool([[[[1], [2]]]], ksize = [2, 1, 2, 1], strides = [1, 1, 1, 1], padding = "VALID") : the window has size 2 along the batch, expected 1
MaxPool([[[[1, 4, 3, 2]]]], ksize = [1, 1, 1, 2], strides = [1, 1, 1, 2], padding = "SAME") = [[[[4, 3]]]]
MaxPool([[[[1, 4]], [[5, 2]], [[3, 0]], [[7, 9]]]], ksize = [1, 2, 1, 1], strides = [1, 2, 1, 1], padding = "VALID", data_format = "NCHW") = [[[[5, 4]], [[7, 9]]]]
MaxPool([[[[1, 4, 3]]]], ksize = [1, 1, 1, 2], strides = [1, 1, 1, 2], padding = "SAME") : a window over channels has size 2, which does not divide the 3 channels
MaxPool([[[[1, 4]]]], ksize = [1, 1, 1, 2], strides = [1, 1, 1, 1], padding = "SAME") : a window over channels has size 2 and stride 1, expected equal ones
MaxPool([[[[1, 4]], [[2, 3]]]], ksize = [1, 2, 1, 2], strides = [1, 2, 1, 2], padding = "SAME") : a window over channels has size 2 and stride 2 along dimension 1
MaxPool([[[[1], [2]]]], ksize = [1, 3, 2, 1], strides = [1, 1, 1, 1], padding = "VALID") : the window of 3 does not fit in the 1 of dimension 1
MaxPool([[1]], ksize = [1, 1, 2, 1], strides = [1, 1, 1, 1], padding = "VALID") : the image has shape [1,1], expected 4 dimensions
MaxPoolV2([[[[1], [2]], [[4], [3]]]], [1, 2, 2, 1], [1, 2, 2, 1], padding = "VALID") = [[[[4]]]]
MaxPoolV2([[[[1], [2]]]], [1, 0, 2, 1], [1, 2, 2, 1], padding = "VALID") : 'ksize' contains 0
MaxPoolV2([[[[1], [2]]]], [1, 2, 1], [1, 2, 2, 1], padding = "VALID") : input 1 has shape [3], expected a vector of 4
MaxPoolGrad([[[[1], [4]], [[4], [3]]]], [[[[4]]]], [[[[7]]]], ksize = [1, 2, 2, 1], strides = [1, 2, 2, 1], padding = "VALID") = [[[[0], [7]], [[0], [0]]]]
MaxPoolGrad([[[[1], [3], [2]]]], [[[[3], [3]]]], [[[[5], [7]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 1, 1], padding = "VALID") = [[[[0], [12], [0]]]]
MaxPoolGrad([[[[1], [3], [2]]]], [[[[3], [3]]]], [[[[5]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 1, 1], padding = "VALID") : 'grad' has shape [1,1,1,1], expected [1,1,2,1]
MaxPoolGradV2([[[[1], [3], [2]]]], [[[[3], [3]]]], [[[[5], [7]]]], [1, 1, 2, 1], [1, 1, 1, 1], padding = "VALID") = [[[[0], [12], [0]]]]
MaxPoolGradGrad([[[[1], [3], [2]]]], [[[[3], [3]]]], [[[[5], [6], [7]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 1, 1], padding = "VALID") = [[[[6], [6]]]]
MaxPoolGradGradV2([[[[1], [3], [2]]]], [[[[3], [3]]]], [[[[5], [6], [7]]]], [1, 1, 2, 1], [1, 1, 1, 1], padding = "VALID") = [[[[6], [6]]]]
AvgPool([[[[1], [2]], [[4], [5]]]], ksize = [1, 2, 2, 1], strides = [1, 2, 2, 1], padding = "VALID") = [[[[3]]]]
AvgPool([[[[1], [2], [3]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "SAME") = [[[[1.5], [3]]]]
AvgPool([[[[1], [2]]]], ksize = [1, 1, 2, 1], strides = [1, -1, 1, 1], padding = "VALID") : attribute 'strides' contains -1
AvgPoolGrad([1, 1, 3, 1], [[[[1], [3]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "SAME") = [[[[0.5], [0.5], [3]]]]
AvgPoolGrad([1, 1, 3], [[[[1], [3]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "SAME") : input 0 has shape [3], expected a vector of 4
# Resizing: half way between 1 and 3 is 2.
MaxPoolV2([[[[1, 4, 3, 2]]]], [1, 1, 1, 4], [1, 1, 1, 4], padding = "VALID") = [[[[4]]]]
MaxPoolGrad([[[[1, 4, 3, 2]]]], [[[[4, 3]]]], [[[[5, 7]]]], ksize = [1, 1, 1, 2], strides = [1, 1, 1, 2], padding = "SAME") = [[[[0, 5, 7, 0]]]]
AvgPool([[[[1, 4, 3, 2]]]], ksize = [1, 1, 1, 2], strides = [1, 1, 1, 2], padding = "SAME") = [[[[2.5, 2.5]]]]
AvgPool(f32([[[[nan], [1]]]]), ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "VALID") = [[[[nan]]]]
AvgPoolGrad([1, 1, -3, 1], [[[[1], [3]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "SAME") : input 0 has negative dimension -3
# More channels than a vector has, and the first of equal largest elements in each; values written out by hand.
MaxPoolGrad([[[[1, 5, 3, 0, 2, 2, 7, -1, 4], [2, 5, 1, 0, 9, 2, 7, -2, 4]]]], [[[[2, 5, 3, 0, 9, 2, 7, -1, 4]]]], [[[[1, 2, 3, 4, 5, 6, 7, 8, 9]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "VALID") = [[[[0, 2, 3, 4, 0, 6, 7, 8, 9], [1, 0, 0, 0, 5, 0, 0, 0, 0]]]]
MaxPoolGrad([[[[nan], [nan], [9]]]], [[[[nan]]]], [[[[5]]]], ksize = [1, 1, 3, 1], strides = [1, 1, 3, 1], padding = "VALID") = [[[[5], [0], [0]]]]
MaxPoolGradGrad([[[[1, 5, 3, 0, 2, 2, 7, -1, 4], [2, 5, 1, 0, 9, 2, 7, -2, 4]]]], [[[[2, 5, 3, 0, 9, 2, 7, -1, 4]]]], [[[[1, 2, 3, 4, 5, 6, 7, 8, 9], [11, 12, 13, 14, 15, 16, 17, 18, 19]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "VALID") = [[[[11, 2, 3, 4, 15, 6, 7, 8, 9]]]]
AvgPool([[[[1, 2, 3, 4, 5, 6, 7, 8, 9], [3, 2, 1, 0, -1, -2, -3, -4, -5]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "VALID") = [[[[2, 2, 2, 2, 2, 2, 2, 2, 2]]]]
