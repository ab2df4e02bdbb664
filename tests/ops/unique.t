# Distinct elements; a NaN is equal to nothing, and 0 to -0.
Unique([3, 1, 3, 2, 1])                                     = [3, 1, 2], [0, 1, 0, 2, 1]
Unique(["b", "a", "b"])                                     = ["b", "a"], [0, 1, 0]
Unique(f32([nan, 0, nan, -0.0]))                            = [nan, 0, nan], [0, 1, 2, 1]
Unique([])                                                  = [], []
Unique([[1]])                                               : x has shape [1,1], expected a vector
UniqueWithCounts([3, 1, 3])                                 = [3, 1], [0, 1, 0], [2, 1]
UniqueWithCounts(1)                                         : x has shape [], expected a vector
UniqueV2([[3, 1, 3], [2, 2, 2]], [1])                           = [[3, 1], [2, 2]], [0, 1, 0]
UniqueV2([[3, 1, 3], [2, 2, 2]], [-1])                          = [[3, 1], [2, 2]], [0, 1, 0]
UniqueV2(f32([[nan, 1], [nan, 1], [0, 1], [-0.0, 1]]), [0])      = [[nan, 1], [nan, 1], [0, 1]], [0, 1, 2, 2]
UniqueV2([["a", "b"], ["ab", ""], ["a", "b"]], [0])             = [["a", "b"], ["ab", ""]], [0, 1, 0]
UniqueV2([[[1, 2], [1, 2]], [[3, 4], [3, 4]]], [1])             = [[[1, 2]], [[3, 4]]], [0, 0]
UniqueV2([[], []], [0])                                         = [[]], [0, 0]
UniqueV2([3, 1, 3], [])                                         = [3, 1], [0, 1, 0]
UniqueV2([[3, 1]], [])                                          : x has shape [1,2], expected a vector
UniqueV2([[3, 1]], [0, 1])                                      : axis has 2 elements, expected at most one
UniqueV2([[3, 1]], [2])                                         : axis
UniqueWithCountsV2([[3, 1, 3], [2, 2, 2]], [1])                 = [[3, 1], [2, 2]], [0, 1, 0], [2, 1]
ListDiff([1, 2, 3, 2], [2])                                 = [1, 3], [0, 2]
ListDiff(["a", "b"], ["a"])                                 = ["b"], [1]
ListDiff([1], [])                                           = [1], [0]
ListDiff([[1]], [1])                                        : input 0 has shape [1,1], expected a vector
Where([true, false, true])                                  = [[0], [2]]
Where([[0, 3], [-1, 0]])                                    = [[0, 1], [1, 0]]
Where(f32([nan, -0.0]))                                     = [[0]]
Where(true)                                                     : input is a scalar, expected at least one dimension
Unique(f32([nan, nan, 0, -0.0]))                            = [nan, nan, 0], [0, 1, 2, 2]
UniqueWithCounts([4, 4, 1])                                 = [4, 1], [0, 0, 1], [2, 1]
UniqueV2([[1, 2], [1, 2], [3, 4]], [0])                     = [[1, 2], [3, 4]], [0, 0, 1]
UniqueWithCountsV2([[1, 1], [2, 2]], [1])                   = [[1], [2]], [0, 0], [2]
Where([[true, false], [true, true]])                        = [[0, 0], [1, 0], [1, 1]]
Where(f32([0, nan, 2]))                                     = [[1], [2]]
