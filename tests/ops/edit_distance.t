# Edit distances; results of TensorFlow 2.21.
EditDistance(i64([[0, 0], [0, 1], [1, 0]]), ["a", "b", "c"], i64([2, 2]), i64([[0, 0], [1, 0], [1, 1]]), ["a", "c", "d"], i64([2, 2]), normalize = false) = f32([1, 1])
EditDistance(i64([[0, 0]]), [5], i64([1, 1]), i64([[0, 0], [0, 1]]), [5, 6], i64([1, 2])) = f32([0.5])
EditDistance(i64([[0, 0]]), [5], i64([1, 1]), i64([[0, 0]]), [5], i64([1, 1, 1])) : hypothesis and truth have 2 and 3 dimensions
EditDistance(i64([[0]]), [5], i64([1]), i64([[0]]), [5], i64([1])) : input 2 has 1 dimensions, expected 2 to 8
