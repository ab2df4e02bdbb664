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
HistogramFixedWidth([0, 4, 9], [5, 5], 2)                   : 'value_range' is 5 to 5, expected an end above the start
HistogramFixedWidth([0, 4, 9], [0, 5], 0)                   : 'nbins' is 0, expected 1 or more
HistogramFixedWidth([0, 4, 9], [0, 5, 9], 2)                : 'value_range' has shape [3], expected a vector of 2
SparseBincount(i64([[0], [3], [5]]), [2, 1, 2], i64([6]), 4, f32([])) = [0, 1, 2, 0]
SparseBincount(i64([[0, 0], [2, 1]]), i64([2, 0]), i64([3, 2]), i64(3), f32([0.5, 4])) = [[0, 0, 0.5], [0, 0, 0], [4, 0, 0]]
SparseBincount(i64([[0], [3]]), [2, -1], i64([6]), 4, f32([])) : row 0 has a negative number
SparseBincount(i64([[0, 0, 0]]), [2], i64([1, 1, 1]), 4, f32([])) : dense_shape has 3 dimensions, expected 1 or 2
RaggedBincount(i64([0, 2, 2, 3]), [1, 1, 4], 3, i64([]))     = i64([[0, 2, 0], [0, 0, 0], [0, 0, 0]])
RaggedBincount(i64([0, 1, 3]), [0, 1, 1], 2, f64([]), binary_output = true) = f64([[1, 0], [0, 1]])
RaggedBincount(i64([0, 4]), [0, 1, 1], 2, f64([]))           : splits[0] ends at 4, but the values have 3 rows
RaggedBincount(i64([0, 3]), [0, 1, 1], 2, f64([1, 2]))       : weights have shape [2], expected [3] or no weights
RaggedBincount(i64([0, 3]), [0, 1, 1], -1, f64([]))          : 'size' is -1, expected 0 or more
RaggedBincount(i64([]), [0], 2, f64([]))                     : splits have no element
