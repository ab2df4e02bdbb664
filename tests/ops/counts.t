# By hand. The columns are places, sums and the shape.
DenseCountSparseOutput([[5, 0, 5], [1, 9, 1]], f32([]), maxlength = 6, binary_output = false) = [[0, 0], [0, 5], [1, 1]], [1, 2, 2], [2, 6]
DenseCountSparseOutput([3, 1, 3], f64([0.5, 2, 0.25]), minlength = 7, binary_output = false)  = [[1], [3]], [2, 0.75], [7]
DenseCountSparseOutput([3, 1, 3], i32([5, 6, 7]), binary_output = true)                       = [[1], [3]], [1, 1], [4]
DenseCountSparseOutput([3, -1], i32([]), binary_output = true)                                : value 1 is -1, expected at least 0
DenseCountSparseOutput([3, 1], i32([4]), binary_output = false)                               : weights have shape [1], expected [2], that of the values, or no elements
DenseCountSparseOutput(3, i32([]), binary_output = false)                                     : values have shape [], expected a vector or a matrix
DenseCountSparseOutput(zeros([0, 2], i32), i32([]), binary_output = false)                    : there are no rows to count in
DenseCountSparseOutput(i64([9223372036854775807]), i32([]), binary_output = true)             = i64([[9223372036854775807]]), [1], i64([9223372036854775807])
SparseCountSparseOutput(i64([[0, 1], [1, 0]]), [4, 2], i64([2, 2]), i64([3, -3]), binary_output = false) = [[0, 4], [1, 2]], [3, -3], [2, 5]
SparseCountSparseOutput(i64([[0, 1], [2, 0]]), [4, 2], i64([2, 2]), i64([]), binary_output = false) : indices[1,0] is 2, outside [0,2)
SparseCountSparseOutput(i64([[0, 1]]), [4, 2], i64([2, 2]), i64([]), binary_output = false)   : indices have shape [1,2], expected [2,2]
SparseCountSparseOutput(i64([[0, 1, 0]]), [4], i64([2, 2, 1]), i64([]), binary_output = false) : dense_shape has 3 dimensions, expected 1 or 2
RaggedCountSparseOutput(i64([0, 2, 2, 3]), [1, 1, 0], i32([]), binary_output = false)         = [[0, 1], [2, 0]], [2, 1], [3, 2]
RaggedCountSparseOutput(i64([0, 2, 1, 3]), [1, 1, 0], i32([]), binary_output = false)         : splits[2] is 1, less than 2 before it
RaggedCountSparseOutput(i64([0, 2]), [1, 1, 0], i32([]), binary_output = false)               : splits must begin with 0 and end with 3, the number of values
