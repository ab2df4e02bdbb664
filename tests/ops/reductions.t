# Halves and small integers can represent all of these results.
Sum([[1, 2, 3], [4, 5, 6]], [0])                            = [5, 7, 9]
Sum([[1, 2, 3], [4, 5, 6]], [1], keep_dims = true)          = [[6], [15]]
Sum([[1, 2, 3], [4, 5, 6]], [0, -1])                        = 21
Sum([[1, 2, 3], [4, 5, 6]], 1)                              = [6, 15]
Sum([[1, 2], [3, 4]], [])                                   = [[1, 2], [3, 4]]
Sum([[], []], [1])                                          = [0, 0]
Sum(5, [])                                                  = 5
Sum([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], [0, 2])           = [14, 22]
Sum(f32([1, inf, -inf]), [0])                               = nan
Sum([[1, 2]], [2])                                          : axis 2 is out of range for rank 2
Sum([[1, 2]], [0, -2])                                      : axis 0 is given twice
Mean([[1, 2, 3], [5, 6, 7]], [1])                           = [2, 6]
Mean(i32([-7, 2]), [0])                                     = -2
Mean(i8([100, 100, 100]), [0])                              = 100
Mean(f32([]), [0])                                          = nan
Mean([1, 2], [1])                                           : axis 1 is out of range
Prod([[1, 2, 3], [4, 5, 6]], [1])                           = [6, 120]
Prod([[], []], [1])                                         = [1, 1]
Prod([1, 2], [-2])                                          : axis -2 is out of range
Max([[1, 5, 3], [4, 2, 6]], [0])                            = [4, 5, 6]
Max(f32([1, nan, 3]), [0])                                  = nan
Max(f32([]), [0])                                           = -inf
Max(i32([]), [0])                                           = -2147483648
Max([1], [1])                                               : axis 1 is out of range
Min([[1, 5, 3], [4, 2, 6]], [1])                            = [1, 2]
Min(f32([nan, 1]), [0])                                     = nan
Min(f32([]), [0])                                           = inf
Min(u8([]), [0])                                            = 255
Min([1], [1])                                               : axis 1 is out of range
All([[true, false], [true, true]], [1])                     = [false, true]
All([[true, false], [true, true]], [0], keep_dims = true)   = [[true, false]]
All([true], [1])                                            : axis 1 is out of range
Any([[true, false], [false, false]], [1])                   = [true, false]
Any([true], [1])                                            : axis 1 is out of range
L2Loss([3, 4])                                              = 12.5
L2Loss([])                                                  = 0
Sum(f32([[], []]), [0])                                     = []
Mean([[1, 2], [3, 6]], [0], keep_dims = true)               = [[2, 4]]
Prod(3, [])                                                 = 3
Max([[[1, 9], [3, 4]], [[5, 6], [7, 8]]], [0, 2])           = [9, 8]
Min([3, -2], [0], keep_dims = true)                         = [-2]
All([], [0])                                                = true
Any([], [0])                                                = false
L2Loss(f32([inf]))                                          = inf
L2Loss(2)                                                   = 2
EuclideanNorm(f64([[3, 4], [5, 12]]), [1])                 = [5, 13]
EuclideanNorm(f64([[3, 4], [0, 12]]), [0, 1], keep_dims = true) = [[13]]
EuclideanNorm(f32([]), [0])                                = 0
