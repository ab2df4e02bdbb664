# Reductions. Halves and small integers hold all that comes out here.
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
ArgMax([[1, 5, 5], [7, 2, 3]], 1)                           = [1, 0]
ArgMax([[1, 5], [7, 2]], 0, output_type = i32)              = [1, 0]
ArgMax(f32([1, nan, 3, nan]), 0)                            = 2
ArgMax([[], []], 1)                                         : dimension 1 of [2,0] is empty
ArgMax([1], 1)                                              : axis 1 is out of range
ArgMin([[1, 5, 1], [7, 2, 3]], -1)                          = [0, 1]
ArgMin(f32([3, nan, 1]), 0)                                 = 2
ArgMin(1, 0)                                                : input is a scalar, expected at least one dimension
Cumsum([1, 2, 3], 0)                                        = [1, 3, 6]
Cumsum([1, 2, 3], 0, exclusive = true)                      = [0, 1, 3]
Cumsum([[1, 2], [3, 4]], -2, reverse = true)                = [[4, 6], [3, 4]]
Cumsum([[1, 2], [3, 4]], 1, exclusive = true, reverse = true) = [[2, 0], [4, 0]]
Cumsum([1], 1)                                              : axis 1 is out of range
Cumprod([1, 2, 3], 0)                                       = [1, 2, 6]
Cumprod([1, 2, 3], 0, exclusive = true, reverse = true)     = [6, 3, 1]
Cumprod([1], 1)                                             : axis 1 is out of range
Bincount([1, 1, 3, 7], 4, f32([]))                          = [0, 2, 0, 1]
Bincount([0, 1, 1], 3, [1, 2, 4])                           = [1, 6, 0]
Bincount([-1], 3, f32([]))                                  : element 0 is negative: -1
Bincount([1], -1, f32([]))                                  : size is -1, expected at least 0
Bincount([0, 1], 3, [1, 2, 4])                              : weights are [3], expected none or the shape [2] of arr
Bucketize([-1, 0, 5, 10, 11], boundaries = [0, 10])         = [0, 1, 1, 2, 2]
Bucketize(f32([nan]), boundaries = [0, 10])                 = [2]
Bucketize([1], boundaries = [10, 0])                        : boundary 1 is less
ArgMin(f32([nan, nan]), 0)                                  = 0
