# Sequences reversed, and rotations.
ReverseSequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_dim = 1) = [[2, 1, 3], [6, 5, 4]]
ReverseSequence([[1, 2], [3, 4], [5, 6]], [0, 3], seq_dim = 0, batch_dim = 1) = [[1, 6], [3, 4], [5, 2]]
ReverseSequence([[1, 2]], [3], seq_dim = 1)                 : length 3 of sequence 0 is outside [0,2]
ReverseSequence([[1, 2]], [1, 1], seq_dim = 1)              : 2 lengths, expected one for each index of dimension 0 of [1,2]
ReverseSequence([[1, 2]], [1], seq_dim = 0)                 : both 0
Roll([1, 2, 3, 4], 1, 0)                                    = [4, 1, 2, 3]
Roll([[1, 2], [3, 4]], [1, -1], [0, 1])                     = [[4, 3], [2, 1]]
Roll([1, 2, 3], [4, 1], [0, 0])                             = [2, 3, 1]
Roll([1, 2], 1, 1)                                          : axis 1 is out of range
Roll([1, 2], [1, 2], 0)                                     : shift and axis must be scalars or vectors of equal length, not [2] and []
ReverseSequence([["a", "b"]], [2], seq_dim = 1)             = [["b", "a"]]
ReverseSequence([[1, 2]], [-1], seq_dim = 1)                : length -1 of sequence 0 is outside [0,2]
Roll([], 3, 0)                                              = []
Roll([1, 2, 3], -4, 0)                                      = [2, 3, 1]
Roll(["a", "b"], 1, 0)                                      = ["b", "a"]
Roll(1, 1, 0)                                               : input is a scalar
