# Probabilities 0.3 and 0.7, then 0.4 and 0.6, of a class and the blank: the paths of that class have 0.58 together, although two
# blanks are the most probable path (Graves 2012).
CTCBeamSearchDecoder(f64([[[-1.2039728043259361, -0.35667494393873245]], [[-0.916290731874155, -0.5108256237659907]]]), [2], top_paths = 1, beam_width = 2) = [[0, 0]], [0], [1, 1], [[-0.5447271754416722]]
CTCBeamSearchDecoder([[[0, 0]]], [1], top_paths = 2, beam_width = 1)     : top_paths is 2, more than beam_width = 1
CTCBeamSearchDecoder([[[0, 0]]], [0], top_paths = 2, beam_width = 1000000000) : sequence 0 has 1 paths in the beam, fewer than top_paths = 2
CTCBeamSearchDecoder([[[0, 0]]], [2], top_paths = 1, beam_width = 1)     : sequence_length[0] is 2, expected 0 to 1, the time of inputs
CTCBeamSearchDecoder([[[0, 0]]], [1, 1], top_paths = 1, beam_width = 1)  : sequence_length has shape [2], expected [1]: a number for each sequence of the batch
CTCBeamSearchDecoder([[0, 0]], [1], top_paths = 1, beam_width = 1)       : inputs are [1,2], expected [time, batch, classes]
