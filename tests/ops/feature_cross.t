# Crosses of features; results of TensorFlow 2.21.
SparseCross([i64([[0, 0]]), i64([[0, 0]])], [["a"], i64([5])], [i64([1, 1]), i64([1, 1])], [], hashed_output = true, num_buckets = 0, hash_key = 7, out_type = i64, internal_type = i64) = i64([[0, 0]]), i64([7450027498544112190]), i64([1, 1])
SparseCross([i64([[0, 0]]), i64([[0, 0]])], [["a"], i64([5])], [i64([1, 1]), i64([1, 1])], [], hashed_output = false, num_buckets = 0, hash_key = 7, out_type = string, internal_type = i64) = i64([[0, 0]]), ["a_X_5"], i64([1, 1])
SparseCross([i64([[0, 0]])], [i64([5])], [i64([1, 1])], [], hashed_output = false, num_buckets = 0, hash_key = 7, out_type = string, internal_type = string) : input 1 has values of i64, expected string as internal_type
SparseCross([i64([[0, 0]])], [i64([5])], [i64([1, 1])], [], hashed_output = true, num_buckets = 0, hash_key = 7, out_type = string, internal_type = i64) : out_type is string, but hashed_output = true requires i64
SparseCrossV2([], [], [], [[["a", "b"], ["c", "d"]]], "-") = i64([[0, 0], [0, 1], [1, 0], [1, 1]]), ["a", "b", "c", "d"], i64([2, 2])
SparseCrossV2([i64([[0, 0]])], [["a"]], [i64([2, 1])], [[["b"]]], "-") : column 1 has 1 rows, expected 2 as column 0
SparseCrossV2([i64([[0, 0, 0]])], [["a"]], [i64([2, 1, 1])], [], "-") : column 0 has 3 dimensions, expected 2
