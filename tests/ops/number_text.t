# Numbers as text, by printf(3) and strtod(3).
AsString(i32([-3, 0, 40]))                                  = ["-3", "0", "40"]
AsString(u64(18446744073709549568))                         = "18446744073709549568"
AsString(i32(-3), width = 5, fill = "0")                    = "-0003"
AsString([true, false])                                     = ["true", "false"]
AsString(f32([1.5, nan, -inf]))                             = ["1.500000", "nan", "-inf"]
AsString(f32(1.5), precision = 2)                           = "1.50"
AsString(f32(1.5), scientific = true)                       = "1.500000e+00"
AsString(f64(1e10), shortest = true)                        = "1e+10"
AsString(c64(1), shortest = true)                           = "(1,0)"
AsString(i32(1), precision = 2)                             : for floats, not i32
AsString(i32(1), fill = "x")                                : fill is 'x'
AsString(i32(1), fill = "%n")                               : fill is '%n'
AsString(f32(1), width = 1000000000)                        : width or precision is larger than 500
AsString(["a", "bcd"])                                        = ["a", "bcd"]
AsString(["a", "bcd"], width = 2)                             = [" a", "bcd"]
AsString("a", width = 3, fill = "-")                          = "a  "
AsString("a", width = 3, fill = "0")                          = "  a"
AsString(c64(1), width = 5, fill = "0", precision = 1)        = "(001.0,000.0)"
StringToNumber([" 12 ", "1.5", "inf", "0x10"])              = [12, 1.5, inf, 16]
StringToNumber(["-5", "+5"], out_type = i32)                = [-5, 5]
StringToNumber(["1.5"], out_type = i32)                     : element 0, '1.5', is not a valid i32
StringToNumber(["2147483648"], out_type = i32)              : element 0, '2147483648', is not a valid i32
StringToNumber(["-1"], out_type = u32)                      : element 0, '-1', is not a valid u32
StringToNumber([""])                                        : element 0, '', is not a valid f32
AsString([])                                                = []
AsString(f64(0.1), shortest = true)                         = "0.1"
AsString(f32(1234.5), scientific = true, precision = 1)     = "1.2e+03"
AsString(f32(1), scientific = true, shortest = true)        : scientific and shortest cannot both be set
StringToNumber([" 2.5 ", "-1e3"])                           = [2.5, -1000]
StringToNumber(["nan", "inf"])                              = [nan, inf]
StringToNumber([], out_type = i64)                          = []
