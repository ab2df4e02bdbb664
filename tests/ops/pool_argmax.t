MaxPoolWithArgmax([[[[1, 6], [3, 2], [2, 7]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 1, 1], padding = "VALID")              = [[[[3, 6], [3, 7]]]], [[[[2, 1], [2, 5]]]]
MaxPoolWithArgmax([[[[1], [3]]], [[[4], [4]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "SAME", Targmax = i32) = [[[[3]]], [[[4]]]], [[[[1]]], [[[0]]]]
MaxPoolWithArgmax([[[[1], [3]]], [[[4], [4]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "SAME", include_batch_in_index = true) = [[[[3]]], [[[4]]]], [[[[1]]], [[[2]]]]
MaxPoolWithArgmax([[[[1, 2]]]], ksize = [1, 1, 1, 2], strides = [1, 1, 1, 1], padding = "VALID")                             : ksize is 1 in the batch and 2 in the channels
MaxPoolGradWithArgmax([[[[1], [3]]], [[[4], [5]]]], [[[[2]]], [[[3]]]], i64([[[[1]]], [[[0]]]]), ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "SAME") = [[[[0], [2]]], [[[3], [0]]]]
MaxPoolGradWithArgmax([[[[1], [3]]], [[[4], [5]]]], [[[[2]]], [[[3]]]], i64([[[[1]]], [[[2]]]]), ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "SAME") : 'argmax' contains an index outside the 2 elements of an image
MaxPoolGradWithArgmax([[[[1], [3]]], [[[4], [5]]]], [[[[2]]], [[[3]]]], [[[[1]]], [[[2]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "SAME", include_batch_in_index = true) = [[[[0], [2]]], [[[3], [0]]]]
MaxPoolGradWithArgmax([[[[1], [3]]]], [[[[2], [3]]]], [[[[1]]]], ksize = [1, 1, 2, 1], strides = [1, 1, 2, 1], padding = "SAME") : 'grad' has shape [1,1,2,1], expected [1,1,1,1]
# A window whose size overflows.
MaxPoolWithArgmax([[[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]]]], ksize = [1, 1073741824, 1073741824, 1], strides = [1, 1, 1, 1], padding = "SAME") = [[[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]]]], [[[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]]]]
