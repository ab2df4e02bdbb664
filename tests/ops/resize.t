# Resizing: half way between 1 and 3 is 2.
ResizeBilinear(f32([[[[1], [3]]]]), [1, 3], align_corners = true)     = [[[[1], [2], [3]]]]
ResizeBilinear(f32([[[[1], [3]]]]), [1, 4])                           = [[[[1], [2], [3], [3]]]]
ResizeBilinear(f32([[[[1], [3]]]]), [1, 4], half_pixel_centers = true) = [[[[1], [1.5], [2.5], [3]]]]
ResizeBilinear([[[[1], [3]]]], [0, 4])                           : 'size' contains 0, expected positive numbers
ResizeBilinear([[[[1], [3]]]], [4])                              : 'size' has shape [1], expected a vector of 2
ResizeBilinear([[1]], [1, 4])                                    : the image has shape [1,1], expected 4 dimensions
ResizeBilinearGrad(f32([[[[1], [2], [4]]]]), [[[[0], [0]]]], align_corners = true) = [[[[2], [5]]]]
ResizeBilinearGrad(f32([[[[1], [2], [4]]]]), [[0]])              : gradient [1,1,3,1] and image [1,1] differ in batch or channels
ResizeNearestNeighbor([[[[1], [3]]]], [2, 4])                    = [[[[1], [1], [3], [3]], [[1], [1], [3], [3]]]]
ResizeNearestNeighbor([[[[1], [3]]]], [-1, 4])                   : 'size' contains -1, expected positive numbers
ResizeNearestNeighborGrad([[[[1], [2], [4], [8]]]], [1, 2])      = [[[[3], [12]]]]
ResizeBilinear(f32([[[[5]]]]), [2, 2])                      = [[[[5], [5]], [[5], [5]]]]
ResizeNearestNeighbor([[[[1], [2], [3], [4]]]], [1, 2])     = [[[[1], [3]]]]
ResizeNearestNeighbor([[[[1], [2]]]], [1, 3], align_corners = true) = [[[[1], [2], [2]]]]
ResizeNearestNeighborGrad([[[[1], [2]]]], [-1, 2])          : 'size' contains -1
ResizeBilinear(f32([[[[1]]]]), [1, 1], align_corners = true, half_pixel_centers = true) : align_corners and half_pixel_centers cannot both be set
