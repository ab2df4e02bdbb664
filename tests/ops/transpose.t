# Axes in another order, or reversed.
Transpose([[1, 2, 3], [4, 5, 6]], [1, 0])                   = [[1, 4], [2, 5], [3, 6]]
Transpose([[[1, 2], [3, 4]]], [2, 0, 1])                    = [[[1, 3]], [[2, 4]]]
Transpose(5, [])                                            = 5
Transpose([["a", "b"]], [1, 0])                             = [["a"], ["b"]]
Transpose([[1, 2]], [0, 0])                                 : axis 0 occurs twice in the permutation
Transpose([[1, 2]], [0, 2])                                 : axis 2 is out of range
Transpose([[1, 2]], [0])                                    : the permutation has 1 axes, expected the 2 of [1,2]
ConjugateTranspose([[1, 2]], [1, 0])                        = [[1], [2]]
InvertPermutation([2, 0, 1])                                = [1, 2, 0]
InvertPermutation([])                                       = []
InvertPermutation([0, 2])                                   : element 1 is 2, outside [0,2)
InvertPermutation([0, 0])                                   : 0 occurs twice in the permutation
ReverseV2([[1, 2], [3, 4]], [0])                            = [[3, 4], [1, 2]]
ReverseV2([[1, 2], [3, 4]], [-1, 0])                        = [[4, 3], [2, 1]]
ReverseV2([1, 2], [1])                                      : axis 1 is out of range
ReverseV2([1, 2], [0, -1])                                  : axis 0 is given twice
ReverseV2([], [0])                                          = []
ReverseV2(5, [])                                            = 5
ReverseV2(["a", "b"], [0])                                  = ["b", "a"]
InvertPermutation([[0]])                                    : vector
