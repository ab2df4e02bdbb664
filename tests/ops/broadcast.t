# NumPy's rule as ops.
BroadcastTo([1, 2], [2, 2])                                 = [[1, 2], [1, 2]]
BroadcastTo([[1], [2]], [2, 3])                             = [[1, 1, 1], [2, 2, 2]]
BroadcastTo(4, [3])                                         = [4, 4, 4]
BroadcastTo(4, [])                                          = 4
BroadcastTo([[1], [2]], [2, 0])                             = [[], []]
BroadcastTo(["a"], [2])                                     = ["a", "a"]
BroadcastTo([1, 2], [3])                                    : cannot broadcast [2] with [3]
BroadcastTo([[1, 2]], [2])                                  : cannot broadcast [1,2] to [2]
BroadcastTo([1, 2], [1])                                    : cannot broadcast [2] to [1]
BroadcastTo([1], [-1])                                      : dimension 0 of the shape is -1
BroadcastTo(1, i64([1099511627776, 1099511627776]))         : larger than any memory
BroadcastArgs([2, 1], [3])                                  = [2, 3]
BroadcastArgs([], [4, 1])                                   = [4, 1]
BroadcastArgs([2], [3])                                     : cannot broadcast [2] with [3]
BroadcastArgs([-1], [3])                                    : dimension 0 of the shape is -1
BroadcastGradientArgs([2, 1], [2, 3])                       = [1], []
BroadcastGradientArgs([1, 3], [1, 1])                       = [0], [0, 1]
BroadcastGradientArgs([2, 1], [2, 1])                       = [], []
BroadcastGradientArgs([], [1])                              = [0], [0]
BroadcastGradientArgs([2, 3], [3])                          = [], [0]
BroadcastGradientArgs([2], [3])                             : cannot broadcast
Tile([1, 2], [2])                                           = [1, 2, 1, 2]
Tile([[1], [2]], [1, 2])                                    = [[1, 1], [2, 2]]
Tile([[1, 2]], [2, 0])                                      = [[], []]
Tile(5, [])                                                 = 5
Tile(["x", "y"], [2])                                       = ["x", "y", "x", "y"]
Tile([1, 2], [1, 2])                                        : multiples have shape [2], expected one for each dimension of [2]
Tile([1, 2], [-1])                                          : multiples[0] is -1
Tile([1, 2], i64([4611686018427387904]))                    : more than 2^63 - 1
BroadcastTo(1, [0])                                         = []
BroadcastTo(f32([nan]), [2])                                = [nan, nan]
Tile([1, 2], [0])                                           = []
Tile([[1], [2]], [1, 3])                                    = [[1, 1, 1], [2, 2, 2]]
