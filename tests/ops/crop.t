# Crops by boxes: y1, x1, y2, x2, where 0 and 1 are the centers of the first and last pixel.
CropAndResize(f32([[[[1], [2]], [[3], [4]]]]), f32([[0, 0, 1, 1]]), [0], [3, 3])  = [[[[1], [1.5], [2]], [[2], [2.5], [3]], [[3], [3.5], [4]]]]
CropAndResize(u8([[[[1], [2]], [[3], [4]]]]), f32([[1, 1, 0, 0]]), [0], [2, 2])   = [[[[4], [3]], [[2], [1]]]]
CropAndResize(f32([[[[1], [2]], [[3], [4]]]]), f32([[0, 0, 1, 0.5]]), [0], [1, 1]) = [[[[2.25]]]]
CropAndResize(f32([[[[1], [2]]]]), f32([[0, 0, 0, 2]]), [0], [1, 3], extrapolation_value = -5) = [[[[1], [2], [-5]]]]
CropAndResize(f32([[[[1], [2]]]]), f32([[0, nan, 0, 2]]), [0], [1, 1])            = [[[[0]]]]
CropAndResize(f32([[[[1], [2], [5]]]]), f32([[0, 0.2, 0, 0.8]]), [0], [1, 2], method = "nearest") = [[[[1], [5]]]]
CropAndResize(f32([[[[1], [2]]]]), f32([[0, 0, 0, 1]]), [1], [1, 1])              : box_ind contains 1, expected 0 to 0
CropAndResize(f32([[[[1], [2]]]]), f32([[0, 0, 0, 1]]), [0], [1, 0])              : 'crop_size' contains 0, expected positive numbers
CropAndResize(f32([[[[1], [2]]]]), f32([[0, 0, 0]]), [0], [1, 1])                 : boxes have shape [1,3] and box_ind [1], expected [n,4] and [n]
CropAndResize(f32([[[1]]]), f32([[0, 0, 0, 0]]), [0], [1, 1])                     : the image has shape [1,1,1], expected 4 dimensions
CropAndResize(f32([[[[1], [2], [4]]]]), f32([[0, 0.1, 0, 0.4]]), [0], [1, 2])     = [[[[1.2], [1.8]]]]
CropAndResizeGradImage(f32([[[[1], [2], [4]]]]), f32([[0, 0, 0, 1]]), [0], [1, 1, 2, 1], T = f64) = [[[[2], [5]]]]
CropAndResizeGradImage(f32([[[[1], [2], [4]]]]), f32([[0, 0, 0, 1]]), [0], [1, 1, 2], T = f32)    : expected 4 dimensions
CropAndResizeGradImage(f32([[[[1], [2], [4]]]]), f32([[0, 0, 0, 1]]), [0], [1, 0, 2, 1], T = f32) : 'image_size' contains 0
CropAndResizeGradImage(f32([[[[1], [2], [4]]]]), f32([[0, 0, 0, 1]]), [0], [1, 1, 2, 3], T = f32) : 'grads' has shape [1,1,3,1], expected [1,?,?,3]
CropAndResizeGradBoxes(f32([[[[1], [2]]]]), f32([[[[1], [4], [5]]]]), f32([[0, 0.25, 0, 0.75]]), [0]) = [[0, 6, 0, 4]]
CropAndResizeGradBoxes(f32([[[[1], [2]]]]), f32([[[[1], [4], [5]]]]), f32([[0, 0.25, 0, 0.75]]), [-1]) : box_ind contains -1, expected 0 to 0
