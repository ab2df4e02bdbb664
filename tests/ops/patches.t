ExtractImagePatches([[[[1], [2], [3]]]], ksizes = [1, 1, 2, 1], strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "VALID")           = [[[[1, 2], [2, 3]]]]
ExtractImagePatches([[[[1, 4], [2, 5], [3, 6]]]], ksizes = [1, 1, 2, 1], strides = [1, 1, 2, 1], rates = [1, 1, 1, 1], padding = "SAME")   = [[[[1, 4, 2, 5], [3, 6, 0, 0]]]]
ExtractImagePatches([[[[1], [2], [3]], [[4], [5], [6]]]], ksizes = [1, 2, 2, 1], strides = [1, 1, 1, 1], rates = [1, 1, 2, 1], padding = "VALID") = [[[[1, 3, 4, 6]]]]
ExtractImagePatches(f16([[[[1], [2]]]]), ksizes = [1, 1, 1, 1], strides = [1, 1, 2, 1], rates = [1, 1, 1, 1], padding = "VALID")           = [[[[1]]]]
ExtractImagePatches([[[[1]]]], ksizes = [1, 1, 1, 2], strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "VALID")                     : ksizes is 1 in the batch and 2 in the channels
ExtractImagePatches([[[1]]], ksizes = [1, 1, 1, 1], strides = [1, 1, 1, 1], rates = [1, 1, 1, 1], padding = "VALID")                       : expected 4 dimensions
ExtractVolumePatches([[[[[1], [2], [3]]]]], ksizes = [1, 1, 1, 2, 1], strides = [1, 1, 1, 1, 1], padding = "VALID")                         = [[[[[1, 2], [2, 3]]]]]
ExtractVolumePatches([[[[[1]], [[2]]], [[[3]], [[4]]]]], ksizes = [1, 2, 1, 1, 1], strides = [1, 1, 1, 1, 1], padding = "SAME")              = [[[[[1, 3]], [[2, 4]]], [[[3, 0]], [[4, 0]]]]]
ExtractVolumePatches([[[[[1], [2], [3]]]]], ksizes = [1, 1, 1, 1, 1], strides = [1, 1, 1, 3, 1], padding = "SAME")                         = [[[[[2]]]]]
ExtractVolumePatches([[[[[1]]]]], ksizes = [1, 1, 1, 1], strides = [1, 1, 1, 1, 1], padding = "SAME")                                       : ksizes
