# By hand: a move by one column, and by half of one.
ImageProjectiveTransformV2(f32([[[[1], [2], [3]]]]), [[1.0, 0, 1, 0, 1, 0, 0, 0]], [1, 3], interpolation = "NEAREST") = [[[[2], [3], [0]]]]
ImageProjectiveTransformV2(f32([[[[1], [2], [3]]]]), [[1.0, 0, 0.5, 0, 1, 0, 0, 0]], [1, 2], interpolation = "BILINEAR") = [[[[1.5], [2.5]]]]
ImageProjectiveTransformV3(f32([[[[1], [2], [3]]]]), [[1.0, 0, 1, 0, 1, 0, 0, 0]], [1, 3], 9.0, interpolation = "NEAREST") = [[[[2], [3], [9]]]]
ImageProjectiveTransformV3(f32([[[[1], [2], [3]]]]), [[1.0, 0, 1, 0, 1, 0, 0, 0]], [1, 4], 9.0, interpolation = "NEAREST", fill_mode = "REFLECT") = [[[[2], [3], [3], [2]]]]
ImageProjectiveTransformV3(f32([[[[1], [2], [3]]]]), [[1.0, 0, 1, 0, 1, 0, 0, 0]], [1, 0], 9.0, interpolation = "NEAREST") : output_shape has a size of 0
ImageProjectiveTransformV3(f32([[[[1], [2], [3]]]]), [[1.0, 0, 1, 0, 1, 0, 0]], [1, 1], 9.0, interpolation = "NEAREST") : the transforms have shape [1,7], expected [1,8], or [1,8] for all images
