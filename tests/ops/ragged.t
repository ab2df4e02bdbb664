# Ragged tensors; results of TensorFlow 2.21.
RaggedRange([2, 3], [5, 9], [1, 2])                          = i64([0, 3, 6]), [2, 3, 4, 3, 5, 7]
RaggedRange([5, 8, 5], [8, 5, 5], -1)                        = i64([0, 0, 3, 3]), [8, 7, 6]
RaggedRange(f32(0), f32([1, 0.5]), f32(0.25), Tsplits = i32) = i32([0, 4, 6]), f32([0, 0.25, 0.5, 0.75, 0, 0.25])
RaggedRange([2, 3], [5, 9, 1], 1)                            : starts, limits and deltas have 2 and 3 elements
RaggedRange([2], [5], 0)                                     : the step of row 0 is 0
RaggedRange([[2]], [5], 1)                                   : starts have shape [1,1], expected a scalar or a vector
RaggedRange(i64(-9223372036854775807), i64(9223372036854775807), i64(1)) : is too long
RaggedRange(i64(0), i64([5000000000]), i64(1), Tsplits = i32) : more than splits of i32 can count
RaggedRange(f64(0), f64(1e300), f64(1))                      : is too long
RaggedRange(f32(0), f32([1, 2]), f32([1, nan]))              : a range from 0 to 2 in steps of nan has no defined length
RaggedRange(f32(nan), f32(1), f32(-1))                       : has no defined length
RaggedGather([i64([0, 2, 2, 5])], [1, 2, 3, 4, 5], [2, 0], OUTPUT_RAGGED_RANK = 1) = i64([0, 3, 5]), [3, 4, 5, 1, 2]
RaggedGather([i64([0, 2, 2, 5])], [1, 2, 3, 4, 5], 2, OUTPUT_RAGGED_RANK = 0) = [3, 4, 5]
RaggedGather([i64([0, 2, 2, 5])], [1, 2, 3, 4, 5], 2, OUTPUT_RAGGED_RANK = 1) : OUTPUT_RAGGED_RANK is 1, expected 0
RaggedGather([i64([0, 2])], [1, 2], [1], OUTPUT_RAGGED_RANK = 1) : indices[0] is 1, outside [0,1)
RaggedGather([i64([0, 3])], [1, 2], [0], OUTPUT_RAGGED_RANK = 1) : splits[0] ends at 3, but the values have 2 rows
RaggedGather([i64([1, 2])], [1, 2], [0], OUTPUT_RAGGED_RANK = 1) : splits[0][0] is 1, expected 0
RaggedTensorToSparse([i64([0, 2, 2, 3])], [7, 8, 9])         = i64([[0, 0], [0, 1], [2, 0]]), [7, 8, 9], i64([3, 2])
RaggedTensorToSparse([i64([0, 2, 1, 3])], [7, 8, 9])         : splits[0][2] is 1, expected at least 2
RaggedTensorToSparse([i64([0])], 3)                          : rt_dense_values are a scalar
