LowerBound([[1, 3, 3, 5]], [[0, 3, 4, 9]])                  = [[0, 1, 3, 4]]
LowerBound(u8([[1, 3], [5, 7]]), u8([[3], [3]]), out_type = i64) = [[1], [0]]
LowerBound([[1, 3]], [[1], [2]])                            : sorted_inputs have shape [1,2] and values [2,1], expected equal first dimensions
LowerBound([1, 3], [1])                                     : input 0 has shape [2]
UpperBound([[1, 3, 3, 5]], [[0, 3, 4, 9]])                  = [[0, 3, 3, 4]]
UpperBound(f32([[]]), f32([[1]]))                           = [[0]]
DenseBincount([1, 3, 1, 7], 4, i64([]))                     = [0, 2, 0, 1]
DenseBincount([[1, 1], [0, 2]], 3, f32([[0.5, 2], [3, 4]])) = [[0, 2.5, 0], [3, 0, 4]]
DenseBincount([[1, 1], [0, 2]], 3, f32([]), binary_output = true) = [[0, 1, 0], [1, 0, 1]]
DenseBincount([1, -1], 3, f32([]))                          : row 0 of the input has a negative number
DenseBincount([1, 1], -3, f32([]))                          : 'size' is -3, expected 0 or more
DenseBincount([1, 1], 3, f32([1, 2, 3]))                    : weights have shape [3], expected [2] or no weights
HistogramFixedWidth(f32([-1, 0, 1.5, 2, 5, 15]), f32([0, 5]), 5)        = [2, 1, 1, 0, 2]
HistogramFixedWidth([0, 4, 9], [0, 10], 2, dtype = i64)     = [2, 1]
HistogramFixedWidth([0, 4, 9], [5, 5], 2)                   : 'value_range' is 5 to 5, expected a larger end
HistogramFixedWidth([0, 4, 9], [0, 5], 0)                   : 'nbins' is 0, expected 1 or more
HistogramFixedWidth([0, 4, 9], [0, 5, 9], 2)                : 'value_range' has shape [3], expected a vector of 2
