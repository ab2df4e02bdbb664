# Blocks of pixels.
SpaceToDepth([[[[1], [2]], [[3], [4]]]], block_size = 2)    = [[[[1, 2, 3, 4]]]]
SpaceToDepth([[[[1, 2], [3, 4]]]], block_size = 2)          : [1,1,2,2] cannot be divided into blocks of 2
DepthToSpace([[[[1, 2, 3, 4]]]], block_size = 2)            = [[[[1], [2]], [[3], [4]]]]
DepthToSpace([[[[1]], [[2]], [[3]], [[4]]]], block_size = 2, data_format = "NCHW") = [[[[1, 2], [3, 4]]]]
DepthToSpace([[[[1, 2]]]], block_size = 2)                  : [1,1,1,2] cannot be divided into blocks of 2
SpaceToBatchND([[[1], [2], [3], [4]]], [2], [[0, 0]])       = [[[1], [3]], [[2], [4]]]
SpaceToBatchND([[[1], [2], [3]]], [2], [[1, 0]])            = [[[0], [2]], [[1], [3]]]
SpaceToBatchND([[[1], [2], [3]]], [2], [[0, 0]])            : dimension 1, 3 with its padding, is not a multiple of block size 2
SpaceToBatchND([[[1], [2]]], [0], [[0, 0]])                 : block size 0
BatchToSpaceND([[[1], [3]], [[2], [4]]], [2], [[0, 0]])     = [[[1], [2], [3], [4]]]
BatchToSpaceND([[[0], [2]], [[1], [3]]], [2], [[1, 0]])     = [[[1], [2], [3]]]
BatchToSpaceND([[[1]]], [2], [[0, 0]])                      : a batch of 1 is not a multiple of block size 2
BatchToSpaceND([[[1]], [[2]]], [2], [[1, 2]])               : cannot crop 1 and 2 elements from the ends of dimension 1, which has 2
SpaceToDepth([1, 2], block_size = 2)                        : input has shape [2], expected 4 dimensions
SpaceToBatchND([[[1], [2]]], [2], [[1, 1]])                 = [[[0], [2]], [[1], [0]]]
BatchToSpaceND([[[0], [2]], [[1], [0]]], [2], [[1, 1]])     = [[[1], [2]]]
BatchToSpaceND([[[1]], [[2]]], [2], [[2, 1]])               : cannot crop 2 and 1 elements from the ends of dimension 1, which has 2
