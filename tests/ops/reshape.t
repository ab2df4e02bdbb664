# The same elements in other shapes.
Reshape([[1, 2, 3], [4, 5, 6]], [3, 2])                     = [[1, 2], [3, 4], [5, 6]]
Reshape([1, 2, 3, 4], [2, -1])                              = [[1, 2], [3, 4]]
Reshape([5], [])                                            = 5
Reshape([], [2, 0])                                         = [[], []]
Reshape([1, 2, 3], [2, 2])                                  : cannot reshape [3] to [2,2]
Reshape([1, 2, 3], [-1, 2])                                 : cannot reshape [3] to [?,2]
Reshape([1, 2, 3, 4], [-1, -1])                             : cannot reshape to [?,?]: dimensions 0 and 1 are both -1
Reshape([], [-1, 0])                                        = [[]]
Reshape([1, 2], [-1, 0])                                    : cannot reshape [2]
Reshape([1], [-2])                                          : dimension 0 of the shape is -2
Reshape([1], [1, 1, 1, 1, 1, 1, 1, 1, 1])                   : the shape has 9 dimensions
Reshape([1], i64([4611686018427387904, 4611686018427387904])) : larger than any memory
ExpandDims([1, 2], 0)                                       = [[1, 2]]
ExpandDims([1, 2], -1)                                      = [[1], [2]]
ExpandDims(3, 0)                                            = [3]
ExpandDims([1, 2], 2)                                       : axis 2 is out of range for rank 2
Squeeze([[[1], [2]]])                                       = [1, 2]
Squeeze([[[1], [2]]], squeeze_dims = [-1])                  = [[1, 2]]
Squeeze([[[1]]])                                            = 1
Squeeze([[1, 2]], squeeze_dims = [1])                       : cannot squeeze dimension 1 of [1,2]
Squeeze([[1, 2]], squeeze_dims = [2])                       : axis 2 is out of range
EnsureShape([[1, 2]], shape = [1, 2])                       = [[1, 2]]
EnsureShape([[1, 2]], shape = [2, 2])                       : the shape is [1,2], expected [2,2]
StopGradient([1, 2])                                        = [1, 2]
PreventGradient([1, 2], message = "no")                     = [1, 2]
Reshape([], [2, -1])                                        = [[], []]
Reshape([1, 2, 3], [2, -1])                                 : cannot reshape [3] to [2,?]
ExpandDims(1, 0)                                            = [1]
StopGradient(f32([nan]))                                    = [nan]
GuaranteeConst([1, 2])                                       = [1, 2]
