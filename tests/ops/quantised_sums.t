# Values of quantised types are in tests/cases/ops; these are errors.
QuantizedMatMul(Bitcast(u8([[1, 2]]), type = qu8), Bitcast(u8([[3, 4]]), type = qu8), 0.0, 255.0, 0.0, 255.0) : cannot multiply [1,2] by [1,2]
QuantizedMatMul(Bitcast(u8([[1]]), type = qu8), Bitcast(u8([[3]]), type = qu8), 1.0, 0.0, 0.0, 255.0) : inputs 2 and 3 are 1 and 0, expected the finite minimum and maximum of a range
QuantizedMul(Bitcast(u8([1, 2]), type = qu8), Bitcast(u8([1, 2, 3]), type = qu8), 0.0, 255.0, 0.0, 255.0) : cannot broadcast
QuantizedBiasAdd(Bitcast(u8([[0, 0]]), type = qu8), Bitcast(u8([0]), type = qu8), 0.0, 255.0, 0.0, 255.0, out_type = qi32) : the bias has shape [1], expected one element
QuantizedConv2D(Bitcast(u8([[[[1, 2]]]]), type = qu8), Bitcast(u8([[[[3]]]]), type = qu8), 0.0, 255.0, 0.0, 255.0, strides = [1, 1, 1, 1], padding = "SAME") : expected equal numbers of channels
QuantizedAdd(Bitcast(u8([1, 2]), type = qu8), Bitcast(u8([1, 2, 3]), type = qu8), 0.0, 1.0, 0.0, 1.0) : cannot broadcast
