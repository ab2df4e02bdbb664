Cross([[1, 0, 0], [1, 2, 3]], [[0, 1, 0], [4, 5, 6]]) = [[0, 0, 1], [-3, 6, -3]]
Cross([0.5, 2, -1], [3, 1, 0.25])                    = [1.5, -3.125, -5.5]
Cross([1, 2], [3, 4])                                : whose last dimension is 3
PopulationCount(i32([0, 1, 3, -1]))                  = [0, 1, 2, 32]
PopulationCount(i8([-1, 127]))                       = [8, 7]
PopulationCount(i64([-1]))                           = [64]
