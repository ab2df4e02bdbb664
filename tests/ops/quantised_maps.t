# Values of quantised types are in tests/cases/ops; these are errors, and a range by hand.
QuantizedRelu6(Bitcast(u8([1]), type = qu8), [0.0], 255.0) : input 1 has shape [1], expected a scalar
QuantizedAvgPool(Bitcast(u8([[[[1]]]]), type = qu8), 0.0, 255.0, ksize = [2, 1, 1, 1], strides = [1, 1, 1, 1], padding = "VALID") : ksize
QuantizedReshape(Bitcast(u8([1, 2]), type = qu8), [3], 0.0, 255.0) : cannot reshape [2] to [3]
QuantizedConcat(0, [Bitcast(u8([[1]]), type = qu8), Bitcast(u8([[2, 3]]), type = qu8)], [0.0, 0.0], [1.0, 1.0]) : cannot concatenate [1,1] and [1,2]
RequantizationRange(Bitcast([0, 1073741824], type = qi32), -2.0, 2.0) = 0, 1
RequantizationRange(Bitcast([0], type = qi32), 2.0, -2.0) : inputs 1 and 2 are 2 and -2, expected the finite minimum and maximum of a range
QuantizedRelu(Bitcast(u8([1, 2]), type = qu8), 1.0, 0.0) : inputs 1 and 2 are 1 and 0, expected the finite minimum and maximum of a range
QuantizedMaxPool(Bitcast(u8([1, 2]), type = qu8), 0.0, 1.0, ksize = [1, 1, 1, 1], strides = [1, 1, 1, 1], padding = "VALID") : the image has shape [2], expected 4 dimensions
QuantizeDownAndShrinkRange(Bitcast([1, 2], type = qi32), 2.0, -2.0, out_type = qu8) : inputs 1 and 2 are 2 and -2, expected the finite minimum and maximum of a range
Requantize(Bitcast([1, 2], type = qi32), -2.0, 2.0, 1.0, nan, out_type = qu8) : inputs 3 and 4 are 1 and nan, expected the finite minimum and maximum of a range
