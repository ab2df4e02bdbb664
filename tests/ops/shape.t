# Shapes, sizes and ranks.
Shape([[1, 2, 3], [4, 5, 6]])                               = [2, 3]
Shape(1)                                                    = []
Shape([[], []], out_type = i64)                             = [2, 0]
Shape(["a", "bc"])                                          = [2]
Size([[1, 2, 3], [4, 5, 6]])                                = 6
Size([])                                                    = 0
Size(7)                                                     = 1
Rank([[1, 2, 3]])                                           = 2
Rank(7)                                                     = 0
Shape(Reshape(f32([[], []]), [-1, 0]))                       = [2, 0]
ShapeN([[1, 2], [[3]]])                                     = [2], [1, 1]
ShapeN([5, []], out_type = i64)                             = [], [0]
Shape([[], []])                                             = [2, 0]
Size([[], []])                                              = 0
