# Strings and numbers as text; TensorFlow's results.
StringJoin(["a", ["b", "c"]], separator = "-")              = ["a-b", "a-c"]
StringJoin([["a", "b"], ["c", "d"]])                        = ["ac", "bd"]
StringJoin([["a"], ["b", "c"]])                             : cannot join [1] with [2]
StringLength(["hello", ""])                                 = [5, 0]
StringLength("hé", unit = "UTF8_CHAR")                      = 2
StringLength("a", unit = "WORD")                            : must be one of BYTE|UTF8_CHAR
Substr(["hello", "world"], 1, 3)                            = ["ell", "orl"]
Substr(["hello", "world"], [1, -2], [3, 9])                 = ["ell", "ld"]
Substr("hello", 5, 1)                                       = ""
Substr("hello", 1, -1)                                      = "ello"
Substr("héllo", 1, 2, unit = "UTF8_CHAR")                   = "él"
Substr("hello", 6, 1)                                       : pos 6 is outside string 0 of length 5
Substr("hello", [1], 1)                                     : pos is [1] and len [], expected equal shapes
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
DecodeRaw(["abc", "ABC"], out_type = u8)                    = [[97, 98, 99], [65, 66, 67]]
DecodeRaw("ab", out_type = i16)                             = [25185]
DecodeRaw("ab", out_type = i16, little_endian = false)      = [24930]
DecodeRaw([""], out_type = i16)                             = [[]]
DecodeRaw(["abc"], out_type = i16)                          : strings of 3 bytes are not a multiple of the 2 bytes of an element
DecodeRaw(["abc", "ab"], out_type = u8)                     : string 1 has 2 bytes, but the first has 3
DecodePaddedRaw(["abcde", "d"], 4, out_type = u8)             = [[97, 98, 99, 100], [100, 0, 0, 0]]
DecodePaddedRaw(["abcd", "d"], 4, out_type = i16)             = [[25185, 25699], [100, 0]]
DecodePaddedRaw("abc", 4, out_type = i16, little_endian = false) = [24930, 25344]
DecodePaddedRaw(["a"], 3, out_type = i16)                     : fixed_length is 3, expected a positive multiple of 2
DecodePaddedRaw(["a"], 0, out_type = u8)                      : fixed_length is 0
DecodeCSV(["1,2.5,a", "7,,\"b,\"\"c\""], [[0], [9.5], ["none"]]) = [1, 7], [2.5, 9.5], ["a", "b,\"c"]
DecodeCSV("1;2", [[0], [0]], field_delim = ";")             = 1, 2
DecodeCSV(["1,2,3"], [[0]], select_cols = [1])              = [2]
DecodeCSV(["NA,2"], [[5], [0]], na_value = "NA")            = [5], [2]
DecodeCSV([",2"], [i32([]), [1]])                           : field 0 is missing and has no default
DecodeCSV(["1"], [[1], [2]])                                : record 0: expected 2 fields, found 1
DecodeCSV(["1,2,3"], [[1], [2]])                            : record 0: expected 2 fields, found more
DecodeCSV(["x,2"], [[1], [2]])                              : record 0: field 0, 'x', is not a valid i32
DecodeCSV(["a\"b"], [["z"]])                                : record 0: a field without quotes contains a quote or a line break
DecodeCSV(["\"a\"b"], [["z"]])                              : must be doubled
DecodeCSV(["\"a"], [["z"]])                                 : a quoted field does not end
