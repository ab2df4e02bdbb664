# x / (1 + x^2) over the element itself; 1 / (1 + 4 + 4) over both neighbours.
LRN([[[[1, 2]]]], depth_radius = 0, bias = 1, alpha = 1, beta = 1) = [[[[0.5, 0.4]]]]
LRN([[[[2, 2]]]], depth_radius = 1, bias = 1, alpha = 1, beta = 0.5) = [[[[0.6666666666666666, 0.6666666666666666]]]]
LRN([[1]])                                                  : the image has shape [1,1], expected 4 dimensions
LRNGrad([[[[1]]]], [[[[2]]]], [[[[0.4]]]], depth_radius = 0, bias = 1, alpha = 1, beta = 1) = [[[[-0.12]]]]
LRNGrad([[[[1]]]], [[[[2, 3]]]], [[[[0.4, 0.4]]]])          : inputs 0 and 1 have shape [1,1,1,1] and [1,1,1,2], expected equal
LRN(f32([[[[0, 0]]]]))                                      = [[[[0, 0]]]]
LRN([[[[1]]]], depth_radius = -1)                           : attribute 'depth_radius' is -1
