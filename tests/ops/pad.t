# Borders.
Pad([[1, 2]], [[1, 0], [0, 2]])                             = [[0, 0, 0, 0], [1, 2, 0, 0]]
Pad([], [[1, 1]])                                           = [0, 0]
Pad([1, 2], [[1, 0], [0, 2]])                               : paddings have shape [2,2], expected [1,2]
Pad([1, 2], [[-1, 0]])                                      : the padding of dimension 0 is -1
Pad([1, 2], i64([[4611686018427387904, 4611686018427387904]]))               : dimension 0 is 2, with padding
PadV2([1], [[1, 2]], 9)                                     = [9, 1, 9, 9]
PadV2(["a"], [[0, 1]], "b")                                 = ["a", "b"]
MirrorPad([1, 2, 3], [[2, 1]], mode = "REFLECT")            = [3, 2, 1, 2, 3, 2]
MirrorPad([1, 2, 3], [[2, 1]], mode = "SYMMETRIC")          = [2, 1, 1, 2, 3, 3]
MirrorPad([[1, 2], [3, 4]], [[1, 0], [0, 1]], mode = "REFLECT") = [[3, 4, 3], [1, 2, 1], [3, 4, 3]]
MirrorPad([1, 2, 3], [[3, 0]], mode = "REFLECT")            : cannot mirror 3 and 0 elements at the ends of dimension 0, expected at most 2
MirrorPad([1, 2, 3], [[1, 0]], mode = "WRAP")               : must be one of REFLECT|SYMMETRIC
MirrorPadGrad([1, 2, 3, 4, 5, 6], [[2, 1]], mode = "REFLECT") = [3, 12, 6]
MirrorPadGrad([1, 2, 3, 4, 5, 6], [[2, 1]], mode = "SYMMETRIC") = [5, 5, 11]
MirrorPadGrad([1, 2, 3], [[2, 2]], mode = "SYMMETRIC")      : cannot mirror
Pad(5, [[]])                                                : paddings
PadV2(f32([1]), [[0, 2]], f32(nan))                         = [1, nan, nan]
MirrorPad(["a", "b"], [[1, 0]], mode = "REFLECT")           = ["b", "a", "b"]
