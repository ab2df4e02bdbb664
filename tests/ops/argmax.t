# Indices of extremes: the first of equals.
ArgMax([[1, 5, 5], [7, 2, 3]], 1)                           = [1, 0]
ArgMax([[1, 5], [7, 2]], 0, output_type = i32)              = [1, 0]
ArgMax(f32([1, nan, 3, nan]), 0)                            = 2
ArgMax([[], []], 1)                                         : dimension 1 of the input, which has shape [2,0], has size 0
ArgMax([1], 1)                                              : axis 1 is out of range
ArgMin([[1, 5, 1], [7, 2, 3]], -1)                          = [0, 1]
ArgMin(f32([3, nan, 1]), 0)                                 = 2
ArgMin(1, 0)                                                : input is a scalar, expected at least one dimension
ArgMin(f32([nan, nan]), 0)                                  = 0
ArgMax([3, 7], 0)                                           = 1
ArgMax([true, false, true], 0)                              = 0
ArgMax(f32([-inf, nan]), 0)                                 = 0
ArgMax([[[1, 2], [3, 0]], [[5, 4], [0, 6]]], 1)             = [[1, 0], [0, 1]]
ArgMin([[1, 5], [7, 2]], 0, output_type = i32)              = [0, 1]
ArgMin([[], []], 0)                                         = []
ArgMin([[], []], 1)                                         : dimension 1 of the input, which has shape [2,0], has size 0
