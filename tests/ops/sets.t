# Sets of values; results of TensorFlow 2.21.
SetSize(i64([[0, 0], [0, 1], [2, 0]]), [7, 7, 3], i64([3, 2]))  = [1, 0, 1]
SetSize(i64([[0, 1], [0, 0]]), [7, 7], i64([3, 2]))          : the index of entry 1 is not after that of the entry before it
SetSize(i64([[0, 3]]), [7], i64([3, 2]))                     : index 3 of entry 0 is outside [0,2) in dimension 1
SetSize(i64([[0]]), [7], i64([3]))                           : set_shape has 1 dimensions, expected 2 to 8
DenseToDenseSetOperation([[3, 1, 3], [5, 5, 6]], [[1, 2], [7, 6]], set_operation = "a-b") = i64([[0, 0], [1, 0]]), [3, 5], i64([2, 1])
DenseToDenseSetOperation([["b", "a"]], [["c", "a"]], set_operation = "union") = i64([[0, 0], [0, 1], [0, 2]]), ["a", "b", "c"], i64([1, 3])
DenseToDenseSetOperation([[1]], [[1]], set_operation = "xor") : set_operation is 'xor', expected a-b, b-a, intersection or union
DenseToDenseSetOperation([1], [1], set_operation = "union")  : input 0 has shape [1], expected at least 2 dimensions
DenseToDenseSetOperation([[1]], [[1], [2]], set_operation = "union") : the two inputs have different shapes before the last dimension
DenseToSparseSetOperation([[3, 1], [5, 6]], i64([[1, 0]]), [7], i64([2, 1]), set_operation = "b-a") = i64([[1, 0]]), [7], i64([2, 1])
SparseToSparseSetOperation(i64([[0, 0]]), [4], i64([1, 1]), i64([[0, 0], [0, 1]]), [9, 4], i64([1, 2]), set_operation = "intersection") = i64([[0, 0]]), [4], i64([1, 1])
