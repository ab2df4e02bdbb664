# Biases and channel sums by hand.
BiasAdd([[1, 2], [3, 4]], [10, 20])                         = [[11, 22], [13, 24]]
BiasAdd([[[1, 2], [3, 4]]], [10, 20], data_format = "NCHW") = [[[11, 12], [23, 24]]]
BiasAdd([[1, 2]], [1, 2, 3])                                : cannot add bias [3] to dimension 1 of [1,2]
BiasAdd([1, 2], [1, 2])                                     : the value is [2], expected at least two dimensions
BiasAddV1([[1, 2], [3, 4]], [10, 20])                       = [[11, 22], [13, 24]]
BiasAddGrad([[1, 2], [3, 4]])                               = [4, 6]
BiasAddGrad([[[1, 2], [3, 4]]], data_format = "NCHW")       = [3, 7]
# exp(ln n) = n.
Softmax([[0, 0, 0, 0], [0, 0.6931471805599453, 1.3862943611198906, 0]]) = [[0.25, 0.25, 0.25, 0.25], [0.125, 0.25, 0.5, 0.125]]
Softmax([1000, 1000])                                       = [0.5, 0.5]
Softmax([[nan, 1]])                                         = [[nan, nan]]
Softmax(1.5)                                                : logits are a scalar, expected at least one dimension
LogSoftmax([0, 0])                                          = [-0.6931471805599453, -0.6931471805599453]
LogSoftmax([0, -1000])                                      = [0, -1000]
SoftmaxCrossEntropyWithLogits([[0, 0]], [[0.25, 0.75]])     = [0.6931471805599453], [[0.25, -0.25]]
SoftmaxCrossEntropyWithLogits([[0, 0], [0, 0]], [[1, 0]])   = [0.6931471805599453, 0.6931471805599453], [[-0.5, 0.5], [-0.5, 0.5]]
SoftmaxCrossEntropyWithLogits([[0, 0]], [[0, 0, 1]])        : cannot broadcast
SoftmaxCrossEntropyWithLogits([0, 0], [0, 1])               : logits are [2] and labels [2], expected matrices
SparseSoftmaxCrossEntropyWithLogits([[0, 0], [0, 0]], i32([0, 1])) = [0.6931471805599453, 0.6931471805599453], [[-0.5, 0.5], [0.5, -0.5]]
SparseSoftmaxCrossEntropyWithLogits([[0, 0]], i32([2]))     : label 2 of row 0 is not in [0, 2)
SparseSoftmaxCrossEntropyWithLogits([[0, 0]], i32([-1]))    : label -1 of row 0
SparseSoftmaxCrossEntropyWithLogits([[0, 0]], i32([0, 1]))  : do not fit labels of [2]
# x / (1 + x^2) over the element itself; 1 / (1 + 4 + 4) over both neighbours.
LRN([[[[1, 2]]]], depth_radius = 0, bias = 1, alpha = 1, beta = 1) = [[[[0.5, 0.4]]]]
LRN([[[[2, 2]]]], depth_radius = 1, bias = 1, alpha = 1, beta = 0.5) = [[[[0.6666666666666666, 0.6666666666666666]]]]
LRN([[1]])                                                  : the image is [1,1], expected 4 dimensions
LRNGrad([[[[1]]]], [[[[2]]]], [[[[0.4]]]], depth_radius = 0, bias = 1, alpha = 1, beta = 1) = [[[[-0.12]]]]
LRNGrad([[[[1]]]], [[[[2, 3]]]], [[[[0.4, 0.4]]]])          : shapes differ
# Two values of mean 2 and variance 1.
FusedBatchNorm([[[[1]]], [[[3]]]], [2], [5], [0], [0], epsilon = 0) = [[[[3]]], [[[7]]]], [2], [2], [2], [1]
FusedBatchNorm([[[[4]]]], [2], [5], [1], [4], epsilon = 0, is_training = false) = [[[[8]]]], [1], [4], [1], [4]
FusedBatchNorm([[[[1]]]], [1, 2], [0], [0], [0])            : 'scale' is [2], must be [1]
FusedBatchNormV2([[[[1]]], [[[3]]]], f32([2]), f32([5]), f32([]), f32([]), epsilon = 0) = [[[[3]]], [[[7]]]], [2], [2], [2], [1]
FusedBatchNormV3([[[[1]]], [[[3]]]], f32([2]), f32([5]), f32([]), f32([]), epsilon = 0) = [[[[3]]], [[[7]]]], [2], [2], [2], [1], []
FusedBatchNormV3([[1]], f32([2]), f32([5]), f32([]), f32([])) : the image is [1,1], expected 4 dimensions
FusedBatchNormGrad([[[[1]]], [[[1]]]], [[[[1]]], [[[3]]]], [2], [2], [1], epsilon = 0) = [[[[0]]], [[[0]]]], [0], [2], [], []
FusedBatchNormGrad([[[[1]]]], [[[[3]]]], [2], [1], [4], epsilon = 0, is_training = false) = [[[[1]]]], [1], [1], [], []
FusedBatchNormGradV2([[[[1]]]], [[[[3]]]], f32([2]), f32([1]), f32([4]), epsilon = 0, is_training = false) = [[[[1]]]], [1], [1], [], []
FusedBatchNormGradV3([[[[1]]]], [[[[3]]]], f32([2]), f32([1]), f32([4]), f32([]), epsilon = 0, is_training = false) = [[[[1]]]], [1], [1], [], []
FusedBatchNormGradV3([[[[1]]]], [[[[3, 4]]]], f32([2, 2]), f32([1, 1]), f32([4, 4]), f32([])) : must be [1,1,1,2]
