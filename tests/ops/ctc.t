# Two time steps of two classes with probabilities 1/2, the label 0 and the blank 1: the paths are 00, 01 and 10 of four.
CTCLoss(f64([[[0, 0]], [[0, 0]]]), i64([[0, 0]]), [0], [2])     = [0.2876820724517809], [[[-0.16666666666666667, 0.16666666666666667]], [[-0.16666666666666667, 0.16666666666666667]]]
# The label 0 twice requires a blank between: no path in two steps. The slopes are the probabilities then.
CTCLoss(f64([[[0, 0]], [[0, 0]]]), i64([[0, 0], [0, 1]]), [0, 0], [2]) = [inf], [[[0.5, 0.5]], [[0.5, 0.5]]]
CTCLoss(f64([[[0, 0]], [[0, 0]]]), i64([[0, 0], [0, 1]]), [0, 0], [2], preprocess_collapse_repeated = true) = [0.2876820724517809], [[[-0.16666666666666667, 0.16666666666666667]], [[-0.16666666666666667, 0.16666666666666667]]]
CTCLoss([[[0, 0]]], i64([[0, 0], [0, 1]]), [0, 0], [1])         : sequence 0 has 2 labels, more than its 1 time steps
CTCLoss([[[0, 0]]], i64([[0, 0], [0, 1]]), [0, 0], [1], ignore_longer_outputs_than_inputs = true) = [0], [[[0, 0]]]
CTCLoss([[[0, 0]]], i64([[1, 0]]), [0], [1])                    : labels_indices[0] is of sequence 1, expected ascending numbers less than 1
CTCLoss([[[0, 0]]], i64([[0, 0]]), [-1], [1])                   : label -1 of sequence 0 is negative
CTCLoss([[[0, 0, 0]], [[0, 0, 0]]], i64([[0, 0], [0, 1]]), [2, 0], [2]) : label 0 of sequence 0 follows a blank
CTCLoss([[[0, 0]]], i64([[0, 0]]), [0], [2])                    : sequence_length[0] is 2, expected 0 to 1, the time of inputs
CTCLoss([[[0, 0]]], i64([[0, 0]]), [0], [1, 1])                 : sequence_length has shape [2], expected [1]: a number for each sequence of the batch
CTCLoss([[0, 0]], i64([[0, 0]]), [0], [1])                      : inputs are [1,2], expected [time, batch, classes]
CTCLoss([[[0, 0], [0, 0]]], i64([[1, 0]]), [0], [1, 1])         : sequence 0 has no labels
# The classes 0 0 blank 1: repeated ones are one if they are merged.
CTCGreedyDecoder([[[5, 0, 0]], [[4, 0, 0]], [[0, 0, 3]], [[0, 2, 0]]], [4]) = [[0, 0], [0, 1], [0, 2]], [0, 0, 1], [1, 3], [[-14]]
CTCGreedyDecoder([[[5, 0, 0]], [[4, 0, 0]], [[0, 0, 3]], [[0, 2, 0]]], [3], merge_repeated = true) = [[0, 0]], [0], [1, 1], [[-12]]
CTCGreedyDecoder([[[5, 0, 0]], [[0, 1, 0]]], [2], blank_index = 0) = [[0, 0]], [1], [1, 1], [[-6]]
CTCGreedyDecoder([[[5, 0, 0]]], [-1])                            : sequence_length[0] is -1, expected 0 to 1, the time of inputs
