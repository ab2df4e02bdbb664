# By hand.
ExtractGlimpse(f32([[[[1], [2], [3]]]]), [1, 1], [[0.0, 0.0]]) = [[[[2]]]]
ExtractGlimpse(f32([[[[1], [2], [3]]]]), [1, 3], [[0.0, 1.0]], normalized = false, uniform_noise = false, noise = "zero") = [[[[1], [2], [3]]]]
ExtractGlimpseV2(f32([[[[1], [2], [3]]]]), [1, 3], [[0.0, 1.0]], normalized = false, centered = false, noise = "zero", uniform_noise = false) = [[[[2], [3], [0]]]]
ExtractGlimpseV2(f32([[[[1]]]]), [1, 0], [[0.0, 1.0]]) : size is 0, expected at least 1
ExtractGlimpseV2(f32([[[[1]]]]), [1, 1], [[0.0]]) : the offsets have shape [1,1], expected [1,2]
