# Strings as code points; results of TensorFlow 2.21.
UnicodeDecode(["aé", "", "日"], input_encoding = "UTF-8")     = i64([0, 2, 2, 3]), i32([97, 233, 26085])
UnicodeDecode("a\xffb", input_encoding = "UTF-8")            = i64([0, 3]), i32([97, 65533, 98])
UnicodeDecode("a\xffb", input_encoding = "UTF-8", errors = "ignore") = i64([0, 2]), i32([97, 98])
UnicodeDecode("a\xffb", input_encoding = "UTF-8", errors = "strict") : string 0: byte 1 begins no character of the encoding
UnicodeDecode("a", input_encoding = "EBCDIC")                : encoding 'EBCDIC' is not known
UnicodeDecode("a", input_encoding = "UTF-8", replacement_char = 55296) : replacement_char is 55296, which is not a Unicode scalar value
UnicodeDecodeWithOffsets(["aéb"], input_encoding = "UTF-8")  = i64([0, 3]), i32([97, 233, 98]), i64([0, 1, 3])
UnicodeEncode([97, 233, 26085], i64([0, 2, 2, 3]), output_encoding = "UTF-8") = ["aé", "", "日"]
UnicodeEncode([128512], i64([0, 1]), output_encoding = "UTF-16-BE") = ["\xd8=\xde\x00"]
UnicodeEncode([55296], i64([0, 1]), output_encoding = "UTF-8", errors = "strict") : string 0: value 0 is 55296
UnicodeEncode([97], i64([0, 2]), output_encoding = "UTF-8")  : string 0: its values, from 0 up to 2, are not in the 1 values
UnicodeTranscode(["é😀"], input_encoding = "UTF-8", output_encoding = "UTF-16-BE") = ["\x00\xe9\xd8=\xde\x00"]
UnicodeTranscode("a\nb", input_encoding = "UTF-8", output_encoding = "UTF-8", replace_control_characters = true, replacement_char = 32) = "a b"
UnicodeDecode("Z\t", input_encoding = "UTF-8", errors = "strict", replace_control_characters = true, replacement_char = 32) = i64([0, 2]), i32([90, 32])
UnicodeTranscode("Z\t", input_encoding = "UTF-8", output_encoding = "UTF-8", errors = "strict", replace_control_characters = true) : byte 1 is a control character
