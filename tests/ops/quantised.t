QuantizeV2([1], 2.0, 1.0, T = qi8)                         : min_range is 2 and max_range 1, expected min_range <= max_range
QuantizeV2([1], 0.0, 1.0, T = qi8, round_mode = "HALF_TO_EVEN") : round_mode is HALF_TO_EVEN, which requires the mode SCALED
QuantizeV2([1, 2], [0], [1], T = qi8, axis = 0)            : min_range is [1], expected a vector of 2
QuantizeV2([1, 2], [0, 0], [1, 1], T = qu8, axis = 0, mode = "MIN_FIRST") : mode MIN_FIRST cannot be used with axis 0 of [2]: it requires one range for all elements
QuantizeV2([1, 2], [0, 0], [1, 1], T = qu8, axis = 1)      : axis is 1, expected -1 or an axis of [2]
# MIN_COMBINED: -128 and 127 are the ends; SCALED: the larger end is 127; MIN_FIRST: 0 is one of the values.
Dequantize(Bitcast(i8([-128, 127, 0]), type = qi8), 0.0, 255.0) = [0, 255, 128]
Dequantize(Bitcast(u8([0, 255, 51]), type = qu8), -1.0, 4.0)    = [-1, 4, 0]
Dequantize(Bitcast(i8([-128, 127, 2]), type = qi8), -64.0, 12.7, mode = "SCALED") = [-64, 63.5, 1]
Dequantize(Bitcast(u8([[0, 255], [10, 20]]), type = qu8), [0, 0], [255, 510], axis = 1) = [[0, 510], [10, 40]]
Dequantize(Bitcast(u8([0, 255]), type = qu8), 0.0, 255.0, mode = "MIN_FIRST") = [0, 255]
Dequantize(Bitcast(u8([1]), type = qu8), 0.0, 1.0, mode = "SCALED", dtype = bf16) : the output is bf16, which requires the mode MIN_COMBINED
Dequantize(Bitcast(u8([1]), type = qu8), [0, 1], 1.0)           : min_range is [2], expected a scalar or a vector of 1
