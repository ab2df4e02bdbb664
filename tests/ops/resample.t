# Resizing by weighted sums. Half way between pixels the cubic kernel of slope -3/4 weighs -3/32, 19/32, 19/32, -3/32; that of
# slope -1/2 is 111/128 at 1/4, 29/128 at 3/4 and -9/128 at 5/4.
ResizeBicubic(f32([[[[1], [3]]]]), [1, 4], half_pixel_centers = true)    = [[[[0.8235294], [1.4142857], [2.5857143], [3.1764706]]]]
ResizeBicubic(f32([[[[0], [32], [0], [0]]]]), [1, 8])                    = [[[[0], [19], [32], [19], [0], [-3], [0], [0]]]]
ResizeBicubic(f32([[[[1], [3], [5]]]]), [1, 2], align_corners = true)    = [[[[1], [5]]]]
ResizeBicubic(f32([[[[7]]]]), [2, 2])                                    = [[[[7], [7]], [[7], [7]]]]
ResizeBicubic(f32([[[[7]]]]), [0, 2])                                    : 'size' contains 0, expected positive numbers
ResizeBicubic(f32([[[[7]]]]), [2])                                       : 'size' has shape [1], expected a vector of 2
ResizeBicubic(f32([[7]]), [2, 2])                                        : the image has shape [1,1], expected 4 dimensions
ResizeBicubic(f32([[[[7]]]]), [1, 1], align_corners = true, half_pixel_centers = true) : cannot both be set
ResizeBicubicGrad(f32([[[[1], [1], [1], [1]]]]), f32([[[[1], [3]]]]))    = [[[[1.40625], [2.59375]]]]
ResizeBicubicGrad(f32([[[[1]]]]), f32([[[[1, 2]]]]))                     : gradient [1,1,1,1] and image [1,1,1,2] differ in batch or channels
ResizeArea(f32([[[[1], [2], [3], [6]]]]), [1, 2])                        = [[[[1.5], [4.5]]]]
ResizeArea(f32([[[[3], [6], [9]]]]), [1, 2])                             = [[[[4], [8]]]]
ResizeArea(u8([[[[3]]]]), [2, 2], align_corners = true)                  = [[[[3], [3]], [[3], [3]]]]
ResizeArea(f32([[[[3], [6]]]]), [1, -1])                                 : 'size' contains -1, expected positive numbers
ResizeArea(f16([[[[3], [6]]]]), [1, 1])                                  = [[[[4.5]]]]
# A triangle of radius 1 is linear interpolation; without antialias, a smaller image reads pixels by themselves.
ScaleAndTranslate(f32([[[[1], [3]]]]), [1, 4], f32([1, 2]), f32([0, 0]), kernel_type = "triangle") = [[[[1], [1.5], [2.5], [3]]]]
ScaleAndTranslate(f32([[[[1], [3]]]]), [1, 2], f32([1, 1]), f32([0, 1]), kernel_type = "triangle") = [[[[0], [1]]]]
ScaleAndTranslate(f32([[[[1], [3], [5]]]]), [1, 1], f32([1, 0.33333334]), f32([0, 0]), kernel_type = "box", antialias = false) = [[[[3]]]]
ScaleAndTranslate(f32([[[[1], [3]]]]), [1, 1], f32([1, 0]), f32([0, 0])) : 'scale' contains 0, expected positive numbers
ScaleAndTranslate(f32([[[[1], [3]]]]), [1, 1], f32([1]), f32([0, 0]))    : 'scale' has shape [1], expected a vector of 2
ScaleAndTranslate(f32([[[[1], [3]]]]), [1, 1], f32([1, nan]), f32([0, 0])) : expected positive numbers
ScaleAndTranslate(f32([[[[1], [3]]]]), [1, 1], f32([1, 1]), f32([0, nan])) = [[[[0]]]]
ScaleAndTranslate(f32([[[[1], [3]]]]), [1, 1], f32([1, 2e-38]), f32([0, 1e38])) = [[[[0]]]]
ScaleAndTranslate(f32([[[[1], [3]]]]), [1, 2], f32([1, 1]), f32([0, 0]), kernel_type = "cross") : attribute 'kernel_type' is 'cross'
ScaleAndTranslateGrad(f32([[[[1], [10]]]]), f32([[[[1], [3]]]]), f32([1, 1]), f32([0, 1]), kernel_type = "triangle") = [[[[10], [0]]]]
ScaleAndTranslateGrad(f32([[[[1]]]]), f32([[[[1, 2]]]]), f32([1, 1]), f32([0, 0])) : differ in batch or channels
