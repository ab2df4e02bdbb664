# Elements of another type.
Cast(f32([1.9, -1.9, nan, 1e20, -1e20]), DstT = i32)        = [1, -1, 0, 2147483647, -2147483648]
Cast(f32([300, -5, 2.5]), DstT = u8)                        = [255, 0, 2]
Cast(f64([1e30, -1e30]), DstT = i64)                        = [9223372036854775807, -9223372036854775808]
Cast(i32([300, -1]), DstT = u8)                             = [44, 255]
Cast(i64([4294967297]), DstT = i32)                         = [1]
Cast(f32([0, 0.5, nan]), DstT = bool)                       = [false, true, true]
Cast([true, false], DstT = f32)                             = [1, 0]
Cast(f32([65519, 65520, 1e-8, 6e-8]), DstT = f16)           = [65504, inf, 0, 5.9604644775390625e-08]
Cast(f32([1.0009765625, 1.00146484375]), DstT = f16)        = [1.0009765625, 1.001953125]
Cast(f32([1.00390625, 1.01171875]), DstT = bf16)            = [1, 1.015625]
Cast(f32([1.01171875]), DstT = bf16, Truncate = true)       = [1.0078125]
Cast(i32([16777217]), DstT = f32)                           = [16777216]
Bitcast(f32([1, -2]), type = i32)                           = [1065353216, -1073741824]
Bitcast(i32([1065353216]), type = f32)                      = [1]
Bitcast(i32([258]), type = u8)                              = [[2, 1, 0, 0]]
Bitcast(u8([[2, 1, 0, 0]]), type = i32)                     = [258]
Bitcast(u8([1, 2]), type = i32)                             : u8[2] does not end with a dimension of 4, whose elements become one i32
Cast([], DstT = i32)                                        = []
Cast(f32(inf), DstT = f16)                                  = inf
Cast(f32([0, nan, -1]), DstT = bool)                        = [false, true, true]
# 255 * 2^14 is the value of the largest element of a sum of two operands up to 255, and 255 * 2^17 with a bias.
Bitcast(QuantizedAdd(Bitcast(u8([1]), type = qu8), Bitcast(u8([1]), type = qu8), 0.0, 255.0, 0.0, 255.0).z, type = i32) = [1028]
Bitcast(QuantizedBiasAdd(Bitcast(u8([[8]]), type = qu8), Bitcast(u8([16]), type = qu8), 0.0, 255.0, 0.0, 255.0, out_type = qi32).output, type = i32) = [[1542]]
