# Gradients of sums over segments, by hand.
SparseSegmentSumGrad([[1, 2], [3, 4]], [2, 0, 2], [0, 1, 1], 3) = [[3, 4], [0, 0], [4, 6]]
SparseSegmentMeanGrad([8, 3], [2, 0], [0, 0], 3)              = [4, 0, 4]
SparseSegmentSqrtNGrad([8], [1, 1, 1, 1], [0, 0, 0, 0], 2)    = [0, 16]
SparseSegmentSumGrad([1], [0], [1], 2)                        : segment_ids[0] is 1, outside [0,1)
SparseSegmentSumGrad([], [], [], 2)                         = [0, 0]
SparseSegmentMeanGrad([6], [0, 1, 2], [0, 0, 0], 3)         = [2, 2, 2]
SparseSegmentSqrtNGrad([3], [1], [0], 2)                    = [0, 3]
SparseSegmentMeanGrad([1], [2], [0], 2)                     : indices[0] is 2, outside [0,2)
SparseSegmentSumGrad(1, [0], [0], 1)                        : grad is a scalar
SparseSegmentSumGrad([1], [0, 1], [0], 2)                   : 1 segment ids for 2 indices
SparseSegmentSqrtNGrad([1], [0], [0], -1)                   : output_dim0 is -1, expected at least 0
