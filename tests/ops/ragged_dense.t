# Ragged tensors as dense ones; results of TensorFlow 2.21.
RaggedTensorToTensor(-1, [1, 2, 3], 0, [i64([0, 2, 2, 3])], row_partition_types = ["ROW_SPLITS"]) = [[1, 2], [0, 0], [3, 0]]
RaggedTensorToTensor([2, 1], [1, 2, 3], 0, [i64([0, 2, 2, 3])], row_partition_types = ["ROW_SPLITS"]) = [[1], [0]]
RaggedTensorToTensor([4, 3], [1, 2, 3], 9, [i64(3), i64([0, 0, 2])], row_partition_types = ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]) = [[1, 2, 9], [9, 9, 9], [3, 9, 9], [9, 9, 9]]
RaggedTensorToTensor([-1, -1, 3], [1, 2, 3], 9, [i64([0, 3])], row_partition_types = ["ROW_SPLITS"]) : shape is [?,?,3], expected rank 2
RaggedTensorToTensor(-1, [1, 2, 3], 0, [i64([0, 0, 2])], row_partition_types = ["VALUE_ROWIDS"]) : row partition 0 is VALUE_ROWIDS, expected FIRST_DIM_SIZE or ROW_SPLITS
RaggedTensorToTensor(-1, [1, 2], 0, [i64(1), i64([0, 1])], row_partition_types = ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]) : row ids: element 1 is 1, which is not the number of a row
RaggedTensorToTensor(-1, [1, 2], 0, [i64([0, 1])], row_partition_types = ["ROW_SPLITS"]) : the partitions have 1 values, but values have shape [2]
RaggedTensorToTensor(-1, [1, 2], [0, 0], [i64([0, 2])], row_partition_types = ["ROW_SPLITS"]) : default_value has shape [2], which has more dimensions than a value
RaggedTensorToTensor([4611686018427387904, 4], [1, 2], 0, [i64([0, 2])], row_partition_types = ["ROW_SPLITS"]) : is larger than any memory
