# Complex numbers by their parts; those with an imaginary part are tried in tests/unit/elementwise.c.
Complex(f32([1, 2]), f32(0), Tout = c64)                    = [1, 2]
Complex(f64([1]), f64([2]), Tout = c64)                     : the input is f64 and the output c64, expected equal precision
Real(c64([1, -2]))                                          = [1, -2]
Imag(c64([1, -2]))                                          = [0, 0]
ComplexAbs(c64([3, -4, 0]))                                 = [3, 4, 0]
Angle(c64([1, -2]))                                         = [0, 3.141592653589793]
Conj(c128([1, -2]))                                         = [1, -2]
Imag(Mul(Complex(f32(1), f32(2)), Complex(f32(3), f32(4))))  = 10
