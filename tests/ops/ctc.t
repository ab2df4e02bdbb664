# The classes 0 0 blank 1: repeated ones are one if they are merged.
CTCGreedyDecoder([[[5, 0, 0]], [[4, 0, 0]], [[0, 0, 3]], [[0, 2, 0]]], [4]) = [[0, 0], [0, 1], [0, 2]], [0, 0, 1], [1, 3], [[-14]]
CTCGreedyDecoder([[[5, 0, 0]], [[4, 0, 0]], [[0, 0, 3]], [[0, 2, 0]]], [3], merge_repeated = true) = [[0, 0]], [0], [1, 1], [[-12]]
CTCGreedyDecoder([[[5, 0, 0]], [[0, 1, 0]]], [2], blank_index = 0) = [[0, 0]], [1], [1, 1], [[-6]]
CTCGreedyDecoder([[[5, 0, 0]]], [-1])                            : sequence_length[0] is -1, expected 0 to 1, the time of inputs
