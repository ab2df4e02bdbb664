# Prefix sums and products, and counts.
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
Bincount([0, 1], 3, [1, 2, 4])                              : weights have shape [3], expected none or the shape [2] of arr
Bucketize([-1, 0, 5, 10, 11], boundaries = [0, 10])         = [0, 1, 1, 2, 2]
Bucketize(f32([nan]), boundaries = [0, 10])                 = [2]
Bucketize([1], boundaries = [10, 0])                        : boundaries[1] is 0
Cumsum([], 0)                                               = []
Cumsum(f32([1, inf, -inf]), 0)                              = [1, inf, nan]
Cumprod([2, 3], 0, exclusive = true)                        = [1, 2]
Cumsum(i8([100, 100]), 0)                                   = [100, -56]
Bincount([], 2, f32([]))                                    = [0, 0]
Bucketize([], boundaries = [1])                             = []
Bucketize(f32([inf, -inf]), boundaries = [0])               = [1, 0]
Cumprod([2, 0, 3], 0)                                       = [2, 0, 0]
Cumprod([2, 0, 3, 5], 0, exclusive = true)                    = [1, 2, 0, 0]
Cumprod([[2, 0], [0, 3]], 0, reverse = true)                = [[0, 0], [0, 3]]
