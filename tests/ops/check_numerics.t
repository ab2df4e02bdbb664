# Errors for NaN and infinities; counts by hand.
CheckNumerics([1, 2], message = "x")                        = [1, 2]
CheckNumerics(f32([1, nan, inf]), message = "the loss")     : the loss: f32[3] has 1 NaN and 1 infinite elements
CheckNumericsV2(f64([inf]), message = "x")                  : x: f64[1] has 0 NaN and 1 infinite
CheckNumerics(f32([]), message = "x")                       = []
CheckNumerics(f32([1, inf]), message = "here")              : here: f32[2] has 0 NaN and 1 infinite elements
CheckNumericsV2(f32([nan, -inf, nan]), message = "here")    : here: f32[3] has 2 NaN and 1 infinite elements
CheckNumericsV2(f32(3.5), message = "x")                    = 3.5
