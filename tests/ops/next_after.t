# 1 + 2^-52, 1 - 2^-24, the least subnormal number of f64.
NextAfter(f64([1, 0, 2]), f64([2, 1, 2]))                  = f64([1.0000000000000002, 5e-324, 2])
NextAfter(f32([1, nan]), 0.0)                              = f32([0.99999994, nan])
