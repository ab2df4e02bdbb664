# 3 bits with a sign: -4 to 3. The largest element gives the scale: 3 values for 1.5, so -1.2 is -2.4 steps.
QuantizeAndDequantizeV2([1.5, -1.2, 0.25], 0.0, 0.0, num_bits = 3) = [1.5, -1, 0]
QuantizeAndDequantizeV2([1.5, 0.25, 0.75], 0.0, 0.0, num_bits = 3, round_mode = "HALF_UP") = [1.5, 0.5, 1]
# Without a sign 2 bits are 0 to 3; the given range [-1, 6] becomes [0, 6].
QuantizeAndDequantizeV2([-9, 2.5, 7], -1.0, 6.0, num_bits = 2, signed_input = false, range_given = true) = [0, 2, 6]
QuantizeAndDequantizeV2([[3, 8], [1.4, 1]], [-3, -9], [3, 9], num_bits = 3, range_given = true, narrow_range = true, axis = 1) = [[3, 9], [1, 0]]
QuantizeAndDequantizeV2([1], 2.0, 1.0, range_given = true) : input_min is 2 and input_max 1, expected input_min <= input_max
QuantizeAndDequantizeV2([1], 0.0, 1.0, num_bits = 0)       : num_bits is 0, expected 1 to 62
QuantizeAndDequantizeV2([1], 0.0, 1.0, axis = 1)           : axis is 1, expected -1 or an axis of [1]
QuantizeAndDequantizeV2([1], 0.0, 1.0, axis = 0)           : input_min is [], expected [1]
QuantizeAndDequantizeV3([1.5, -1.2, 0.25], 0.0, 0.0, 3, range_given = false) = [1.5, -1, 0]
QuantizeAndDequantizeV3([1], 0.0, 1.0, 63)                 : num_bits is 63, expected 1 to 62
QuantizeAndDequantizeV4([1.5, -1.2, 0.25], 0.0, 0.0, num_bits = 3) = [1.5, -1, 0]
QuantizeAndDequantizeV4([1], 0.0, [1])                     : input_max is [1], expected []
QuantizeAndDequantizeV4Grad([5, 7, 9], [-2, 0, 2], -1.0, 2.0) = [0, 7, 9], 0, 0
QuantizeAndDequantizeV4Grad([5, 7], [1], 0.0, 1.0)         : gradients are [2] and input is [1], expected equal shapes
