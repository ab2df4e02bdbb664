# Rows combined by segment.
SegmentSum([1, 2, 3, 4], [0, 0, 2, 2])                      = [3, 0, 7]
SegmentSum([[1, 2], [3, 4]], [0, 0])                        = [[4, 6]]
SegmentSum([], i32([]))                                     = []
SegmentSum([1, 2], [1, 0])                                  : segment_ids[1] is 0, which is out of order
SegmentSum([1], [-1])                                       : segment_ids[0] is -1, which is negative
SegmentSum([1, 2], [0])                                     : 1 segment ids, expected one for each row of [2]
SegmentMean([1, 3, 5], [0, 0, 1])                           = [2, 5]
SegmentMean([1, 3], [1, 0])                                 : out of order
SegmentMax([1, 3, 2], [0, 0, 2])                            = [3, 0, 2]
SegmentMax(f32([-inf, nan, 1]), [0, 1, 1])                  = [-inf, nan]
SegmentMax([1, 3], [1, 0])                                  : out of order
SegmentMin([1, 3, 2], [0, 0, 2])                            = [1, 0, 2]
SegmentMin([1, 3], [1, 0])                                  : out of order
SegmentProd([2, 3, 4], [0, 0, 2])                           = [6, 1, 4]
SegmentProd([1, 3], [1, 0])                                 : out of order
UnsortedSegmentSum([1, 2, 3, 4], [2, 0, 2, -1], 3)          = [2, 0, 4]
UnsortedSegmentSum([[1, 2], [3, 4]], [[0, 1], [1, 1]], 2)   = [1, 9]
UnsortedSegmentSum([1], [3], 3)                             : segment_ids[0] is 3, outside [0,3)
UnsortedSegmentSum([1], [0], -1)                            : num_segments is -1, expected at least 0
UnsortedSegmentSum([1, 2], [0], 1)                          : segment_ids have shape [1], expected the first dimensions of data [2]
UnsortedSegmentProd([1, 2, 3, 4], [2, 0, 2, -1], 3)         = [2, 1, 3]
UnsortedSegmentProd([1], [3], 3)                            : outside [0,3)
UnsortedSegmentMax(i32([1, 5, 3]), [0, 0, 2], 3)            = [5, -2147483648, 3]
UnsortedSegmentMax(f16([1]), [0], 2)                        = [1, -65504]
UnsortedSegmentMax([1], [3], 3)                             : outside [0,3)
UnsortedSegmentMin(i32([1, 5, 3]), [0, 0, 2], 3)            = [1, 2147483647, 3]
UnsortedSegmentMin(f16([1]), [0], 2)                        = [1, 65504]
UnsortedSegmentMin([1], [3], 3)                             : outside [0,3)
SparseSegmentSum([[1, 2], [3, 4], [5, 6]], [2, 0, 1], [0, 0, 1]) = [[6, 8], [3, 4]]
SparseSegmentSum([[1, 2]], [1], [0])                        : indices[0] is 1, outside [0,1)
SparseSegmentSum([[1, 2]], [0, 0], [0])                     : 1 segment ids for 2 indices
SparseSegmentMean([1, 2, 4], [0, 2, 1], [0, 0, 2])          = [2.5, 0, 2]
SparseSegmentMean([1], [-1], [0])                           : indices[0] is -1
SparseSegmentSqrtN([1, 2, 3, 6], [0, 1, 2, 3], [0, 0, 0, 0]) = [6]
SparseSegmentSqrtN([1], [0], [-1])                          : segment_ids[0] is -1, which is negative
SparseSegmentSumWithNumSegments([1, 2, 4], [0, 2, 2], [0, 0, 2], 4) = [5, 0, 4, 0]
SparseSegmentMeanWithNumSegments([1, 2, 4], [0, 2], [1, 1], 2) = [0, 2.5]
SparseSegmentSqrtNWithNumSegments([1, 2, 4], [0, 2], [1, 1], 1) : segment id 1 is outside [0,1)
SegmentSum([[], []], [0, 1])                                = [[], []]
SegmentSum(f32([1, inf, -inf]), [0, 1, 1])                  = [1, nan]
SegmentMean([], i32([]))                                    = []
SegmentProd(f32([nan, 2]), [0, 1])                          = [nan, 2]
UnsortedSegmentSum([], i32([]), 2)                          = [0, 0]
UnsortedSegmentProd([2, 3], [1, 1], 2)                      = [1, 6]
SparseSegmentSum([1, 2], i32([]), i32([]))                  = []
SparseSegmentMean([2, 4], [0, 1], [0, 0])                   = [3]
