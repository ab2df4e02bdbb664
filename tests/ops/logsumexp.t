# log(1 + 1) = 0.6931..., log(1 + 1 + 2) = 1.3862...
CumulativeLogsumexp([0, 0, 0.6931471805599453], 0)                    = [0, 0.6931471805599453, 1.3862943611198906]
CumulativeLogsumexp([[0, 0], [0.5, 1]], -1, reverse = true)           = [[0.6931471805599453, 0], [1.4740769841801067, 1]]
CumulativeLogsumexp([[0, 1], [0, 1]], i64(0))                         = [[0, 1], [0.6931471805599453, 1.6931471805599454]]
CumulativeLogsumexp(f32([2, 0]), 0, exclusive = true)                 = [-inf, 2]
CumulativeLogsumexp([1, 2], 1)                                        : axis
CumulativeLogsumexp([-inf, -inf, 1000, 1000], 0)                      = [-inf, -inf, 1000, 1000.6931471805599]
