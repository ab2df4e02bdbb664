# Rows by number, and back.
Gather([[1, 2], [3, 4], [5, 6]], [2, 0])                    = [[5, 6], [1, 2]]
Gather([1, 2, 3], [[0, 1], [2, 2]])                         = [[1, 2], [3, 3]]
Gather([1, 2, 3], 1)                                        = 2
Gather(["a", "b"], [1, 1])                                  = ["b", "b"]
Gather([1, 2, 3], [3])                                      : index 3 at 0 is outside [0,3)
Gather([1, 2, 3], [0, -1])                                  : index -1 at 1 is outside [0,3)
Gather(1, [0])                                              : cannot gather from a scalar
GatherV2([[1, 2, 3], [4, 5, 6]], [2, 0], 1)                 = [[3, 1], [6, 4]]
GatherV2([[1, 2, 3], [4, 5, 6]], [2, 0], -1)                = [[3, 1], [6, 4]]
GatherV2([[1, 2, 3], [4, 5, 6]], [[0, 1], [2, 2]], 1, batch_dims = 1) = [[1, 2], [6, 6]]
GatherV2([1, 2], i32([]), 0)                                = []
GatherV2([[1, 2, 3]], [3], 1)                               : index 3 at 0 is outside [0,3)
GatherV2([1], [0], 1)                                       : axis 1 is out of range
GatherV2([[1, 2], [3, 4]], [[0], [1], [0]], 1, batch_dims = 1) : differ in batch dimension 0
GatherV2([[1, 2], [3, 4]], [[0], [1]], 0, batch_dims = 1)   : more than axis 0
GatherNd([[1, 2], [3, 4]], [[1, 0], [0, 1]])                = [3, 2]
GatherNd([[1, 2], [3, 4]], [[1]])                           = [[3, 4]]
GatherNd([1, 2], [1])                                       = 2
GatherNd([[1, 2]], [[0, 2]])                                : index 2 at [0,1] is outside [0,2)
GatherNd([1, 2], [[0, 0]])                                  : indices of 2 numbers are too long for params [2]
GatherNd([1, 2], [[2], [1]], bad_indices_policy = "IGNORE") = [0, 2]
GatherNd([[], []], [[1]])                                      : params [2,0] have no elements
GatherNd(1, [[]])                                              : params are a scalar, expected at least a vector
ScatterNd([[1], [3], [1]], [9, 8, 7], [4])                  = [0, 16, 0, 8]
ScatterNd([[0]], [[1, 2]], [2, 2])                          = [[1, 2], [0, 0]]
ScatterNd([[1]], ["a"], [2])                                = ["", "a"]
ScatterNd([[4]], [1], [4])                                  : index 4 at [0,0] is outside [0,4)
ScatterNd([[-1]], [1], [4])                                 : index -1
ScatterNd([[0]], [1, 2], [4])                               : updates [2] are not rows of [4] for indices [1,1]
ScatterNd([1], 9, [4])                                         : indices are [1], expected at least a matrix
ScatterNd([[0]], [[]], [2, 0])                                 : no elements to update: indices [1,1], updates [1,0], output [2,0]
TensorScatterUpdate([1, 2, 3], [[1], [1]], [8, 9])          = [1, 9, 3]
TensorScatterUpdate(["a", "b"], [[0]], ["c"])               = ["c", "b"]
TensorScatterUpdate([1], [[1]], [2])                        : index 1 at [0,0] is outside [0,1)
TensorScatterUpdate([1, 2], [1], 3)                            : indices are [1], expected at least a matrix
TensorScatterAdd([1, 2, 3], [[1], [1]], [4, 5])             = [1, 11, 3]
TensorScatterAdd([[1, 2], [3, 4]], [[1]], [[1, 1]])         = [[1, 2], [4, 5]]
TensorScatterAdd([1], [[1]], [2])                           : outside [0,1)
TensorScatterSub([9, 9], [[1], [1]], [4, 5])                = [9, 0]
TensorScatterSub([1], [[1]], [2])                           : outside [0,1)
TensorScatterMax([1, 5], [[0], [1]], [3, 3])                = [3, 5]
TensorScatterMax(f32([1, nan]), [[0], [1]], f32([nan, 1]))  = [nan, nan]
TensorScatterMax([1], [[1]], [2])                           : outside [0,1)
TensorScatterMin([1, 5], [[0], [1]], [3, 3])                = [1, 3]
TensorScatterMin([1], [[1]], [2])                           : outside [0,1)
SparseToDense([1, 3], [4], [7, 8], 0)                       = [0, 7, 0, 8]
SparseToDense([[0, 1], [1, 0]], [2, 2], 5, 1)               = [[1, 5], [5, 1]]
SparseToDense(2, [3], 5, 1)                                 = [1, 1, 5]
SparseToDense([3, 1], [4], [7, 8], 0)                       : index 1 is out of order
SparseToDense([1, 1], [4], [7, 8], 0)                       : index 1 is repeated
SparseToDense([3, 1], [4], [7, 8], 0, validate_indices = false) = [0, 8, 0, 7]
SparseToDense([4], [4], [7], 0)                             : outside [0,4)
SparseToDense([1, 2], [4], [7], 0)                          : 1 values for 2 indices
DynamicPartition([1, 2, 3, 4], [0, 1, 0, 1], num_partitions = 2) = [1, 3], [2, 4]
DynamicPartition([[1, 2], [3, 4]], [1, 0], num_partitions = 2) = [[3, 4]], [[1, 2]]
DynamicPartition(["a", "b"], [1, 0], num_partitions = 2)    = ["b"], ["a"]
DynamicPartition([1, 2], [0, 2], num_partitions = 2)        : partition 2 at 1 is outside [0,2)
DynamicPartition([1, 2], [0], num_partitions = 2)           : partitions [1] are not a prefix of data [2]
DynamicStitch([[0, 2], [1, 3]], [[1, 3], [2, 4]])           = [1, 2, 3, 4]
DynamicStitch([1, [0, 2]], [[1, 1], [[0, 0], [2, 2]]])      = [[0, 0], [1, 1], [2, 2]]
DynamicStitch([[0, 0]], [[1, 2]])                           = [2]
DynamicStitch([[0, -1]], [[1, 2]])                          : index -1 at 1 of part 0 is negative
DynamicStitch([[0, 1]], [[1]])                              : indices [2] are not a prefix of data [1]: part 0
ParallelDynamicStitch([[1], [0]], [[5], [6]])               = [6, 5]
ParallelDynamicStitch([[-1]], [[5]])                        : negative
Unique([3, 1, 3, 2, 1])                                     = [3, 1, 2], [0, 1, 0, 2, 1]
Unique(["b", "a", "b"])                                     = ["b", "a"], [0, 1, 0]
Unique(f32([nan, 0, nan, -0.0]))                            = [nan, 0, nan], [0, 1, 2, 1]
Unique([])                                                  = [], []
Unique([[1]])                                               : x is [1,1], expected a vector
UniqueWithCounts([3, 1, 3])                                 = [3, 1], [0, 1, 0], [2, 1]
UniqueWithCounts(1)                                         : x is [], expected a vector
UniqueV2([[3, 1, 3], [2, 2, 2]], [1])                           = [[3, 1], [2, 2]], [0, 1, 0]
UniqueV2([[3, 1, 3], [2, 2, 2]], [-1])                          = [[3, 1], [2, 2]], [0, 1, 0]
UniqueV2(f32([[nan, 1], [nan, 1], [0, 1], [-0.0, 1]]), [0])      = [[nan, 1], [nan, 1], [0, 1]], [0, 1, 2, 2]
UniqueV2([["a", "b"], ["ab", ""], ["a", "b"]], [0])             = [["a", "b"], ["ab", ""]], [0, 1, 0]
UniqueV2([[[1, 2], [1, 2]], [[3, 4], [3, 4]]], [1])             = [[[1, 2]], [[3, 4]]], [0, 0]
UniqueV2([[], []], [0])                                         = [[]], [0, 0]
UniqueV2([3, 1, 3], [])                                         = [3, 1], [0, 1, 0]
UniqueV2([[3, 1]], [])                                          : x is [1,2], expected a vector
UniqueV2([[3, 1]], [0, 1])                                      : axis has 2 elements, expected at most one
UniqueV2([[3, 1]], [2])                                         : axis
UniqueWithCountsV2([[3, 1, 3], [2, 2, 2]], [1])                 = [[3, 1], [2, 2]], [0, 1, 0], [2, 1]
ListDiff([1, 2, 3, 2], [2])                                 = [1, 3], [0, 2]
ListDiff(["a", "b"], ["a"])                                 = ["b"], [1]
ListDiff([1], [])                                           = [1], [0]
ListDiff([[1]], [1])                                        : input 0 is [1,1], expected a vector
Where([true, false, true])                                  = [[0], [2]]
Where([[0, 3], [-1, 0]])                                    = [[0, 1], [1, 0]]
Where(f32([nan, -0.0]))                                     = [[0]]
Where(true)                                                     : input is a scalar, expected at least one dimension
TopKV2([1, 3, 2, 3], 3)                                     = [3, 3, 2], [1, 3, 2]
TopKV2([[1, 2], [4, 3]], 1)                                 = [[2], [4]], [[1], [0]]
TopKV2([1, 2], 0)                                           = [], []
TopKV2(f32([nan, 1, inf]), 3)                               = [inf, 1, nan], [2, 1, 0]
TopKV2([1, 2], 3)                                           : k is 3, more than the rows of [2] have elements
TopKV2([1, 2], -1)                                          : k is -1
TopKV2(1, 1)                                                : input is a scalar, expected at least one dimension
TopK([1, 3, 2], k = 2)                                      = [3, 2], [1, 2]
TopK([1], k = 2)                                            : k is 2, more than the rows of [1] have elements
InTopK([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], [1, 2], k = 2)   = [true, false]
InTopK([[0.1, inf]], [0], k = 2)                            = [false]
InTopK([[0.1, 0.2]], [7], k = 2)                            = [false]
InTopK([[0.1]], [0, 0], k = 1)                              : differ in rows
InTopKV2([[0.4, 0.4, 0.2]], [1], 1)                         = [true]
InTopKV2([[0.1]], [0, 0], 1)                                : differ in rows
