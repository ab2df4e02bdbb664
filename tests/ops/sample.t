# Results that no random word changes; the numbers themselves are in the cases recorded from TensorFlow.
StatelessRandomGammaV2([2, 2], [1, 2], f32([nan, -1]))     = [[nan, nan], [nan, nan]]
StatelessRandomGammaV2([3], [1, 2], [1, 2])                : the shape is [3], but does not end with [2], the shape of the parameters
StatelessRandomGammaV2([2], [1], 1.0)                      : seed has shape [1], expected [2]
StatelessRandomGammaV3([1], u64([1]), u64([1, 2]), 2, 1.0) : random algorithm 2 is unknown, expected 1 (Philox)
StatelessRandomPoisson([2, 4], [1, 2], f32([0, nan, inf, -1]), dtype = f64) = [[0, nan, nan, nan], [0, nan, nan, nan]]
StatelessRandomPoisson([0], [1, 2], 5.0, dtype = i64)      = []
StatelessRandomPoisson([-2], [1, 2], 5.0, dtype = i64)     : dimension 0 of the shape is -2
StatelessRandomBinomial([2, 4], [1, 2], f64([5, 0, 7, nan]), f64([1, 0.5, 0, 0.5]), dtype = f64) = [[5, 0, 0, nan], [5, 0, 0, nan]]
StatelessRandomBinomial([3], [1, 2], f64([1, 2]), f64(0.5), dtype = i64) : does not end with [2]
