# Rows distributed over tensors, and put together again.
DynamicPartition([1, 2, 3, 4], [0, 1, 0, 1], num_partitions = 2) = [1, 3], [2, 4]
DynamicPartition([[1, 2], [3, 4]], [1, 0], num_partitions = 2) = [[3, 4]], [[1, 2]]
DynamicPartition(["a", "b"], [1, 0], num_partitions = 2)    = ["b"], ["a"]
DynamicPartition([1, 2], [0, 2], num_partitions = 2)        : partitions[1] is 2, outside [0,2)
DynamicPartition([1, 2], [0], num_partitions = 2)           : partitions have shape [1], expected the first dimensions of data [2]
DynamicStitch([[0, 2], [1, 3]], [[1, 3], [2, 4]])           = [1, 2, 3, 4]
DynamicStitch([1, [0, 2]], [[1, 1], [[0, 0], [2, 2]]])      = [[0, 0], [1, 1], [2, 2]]
DynamicStitch([[0, 0]], [[1, 2]])                           = [2]
DynamicStitch([[0, -1]], [[1, 2]])                          : indices[0][1] is -1, which is negative
DynamicStitch([[0, 1]], [[1]])                              : indices of part 0 have shape [2], expected the first dimensions of data [1]
ParallelDynamicStitch([[1], [0]], [[5], [6]])               = [6, 5]
ParallelDynamicStitch([[-1]], [[5]])                        : negative
DynamicPartition([], [], num_partitions = 1)                = []
DynamicPartition(5, 0, num_partitions = 2)                  = [5], []
DynamicStitch([0, 1], [[1, 2], [3, 4]])                     = [[1, 2], [3, 4]]
DynamicStitch([[2]], [[7]])                                 = [0, 0, 7]
DynamicStitch([[0, 0]], [[1, 9]])                           = [9]
