# Strings and their bytes; results of TensorFlow.
StringJoin(["a", ["b", "c"]], separator = "-")              = ["a-b", "a-c"]
StringJoin([["a", "b"], ["c", "d"]])                        = ["ac", "bd"]
StringJoin([["a"], ["b", "c"]])                             : input 1 has shape [2], but those before it [1]: expected equal shapes or scalars
StringLength(["hello", ""])                                 = [5, 0]
StringLength("hé", unit = "UTF8_CHAR")                      = 2
StringLength("a", unit = "WORD")                            : must be one of BYTE|UTF8_CHAR
Substr(["hello", "world"], 1, 3)                            = ["ell", "orl"]
Substr(["hello", "world"], [1, -2], [3, 9])                 = ["ell", "ld"]
Substr("hello", 5, 1)                                       = ""
Substr("hello", 1, -1)                                      = "ello"
Substr("héllo", 1, 2, unit = "UTF8_CHAR")                   = "él"
Substr("hello", 6, 1)                                       : pos 6 is outside string 0 of length 5
Substr("hello", [1], 1)                                     : pos has shape [1] and len [], expected equal shapes
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
