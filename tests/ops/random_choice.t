# A choice by a seed; recorded ones are in tests/cases/ops/random-choices.
StatelessMultinomial([[0, 1]], -1, i64([3, -4]))            : num_samples is -1, expected at least 0
StatelessMultinomial(zeros([1, 0], f32), 2, i64([3, -4]))   : there is no class to draw
StatelessMultinomial([0, 1], 2, i64([3, -4]))               : input 0 has shape [2]
StatelessMultinomial([[0, 1]], 2, i64([3]))                 : seed has shape [1], expected [2]
# All but one class have no weight.
StatelessMultinomial([[-1000, 0, -1000], [5, -1000, -1000]], 4, i64([3, -4])) = [[1, 1, 1, 1], [0, 0, 0, 0]]
# One row has one order; other ones are recorded.
StatelessShuffle([[5, 6]], u64([1]), u64([2, 3]), 1)        = [[5, 6]]
StatelessShuffle([5, 6], u64([1]), u64([2]), 1)             : key, counter and alg are [1], [1] and []
StatelessShuffle([5, 6], u64(1), u64([2, 3]), 1)            : input 1 has shape []
StatelessShuffle([5, 6], u64([1]), u64([2, 3]), 2)          : random algorithm 2 is unknown, expected 1 (Philox)
