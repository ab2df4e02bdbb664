ComputeAccidentalHits(i64([[0, 3], [7, 3], [19, 1]]), i64([3, 5, 19, 3, 0]), num_true = 2) = [0, 0, 1, 2], [4, 3, 3, 2], f32([-3.4028234663852886e38, -3.4028234663852886e38, -3.4028234663852886e38, -3.4028234663852886e38])
ComputeAccidentalHits(i64([[0, 3]]), i64([3]), num_true = 1) : true_classes are [1,2], expected a matrix with num_true = 1 columns
UniformCandidateSampler(i64([[1]]), num_true = 1, num_sampled = 5, unique = true, range_max = 4) : num_sampled is 5, but there are only 4 different classes
LogUniformCandidateSampler(i64([1]), num_true = 1, num_sampled = 5, unique = true, range_max = 9) : true_classes are [1], expected a matrix with num_true = 1 columns
FixedUnigramCandidateSampler(i64([[1]]), num_true = 1, num_sampled = 2, unique = false, range_max = 4) : unigrams is empty, expected the counts of the classes
FixedUnigramCandidateSampler(i64([[1]]), num_true = 1, num_sampled = 2, unique = true, range_max = 3, unigrams = [0.0, 5.0, 0.0]) : num_sampled is 2, but only 1 different classes can be drawn
AllCandidateSampler(i64([[0], [7]]), num_true = 1, num_sampled = 3, unique = true) = i64([0, 1, 2]), f32([[1], [1]]), f32([1, 1, 1])
AllCandidateSampler(i64([0]), num_true = 1, num_sampled = 3, unique = true) : true_classes are [1], expected a matrix with num_true = 1 columns
