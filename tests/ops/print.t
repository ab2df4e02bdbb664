# Values as text; results of TensorFlow 2.21.
StringFormat([f32([1.5, 2, 3, 4, 5, 6, 7, 8])], template = "a %s b") = "a [1.5 2 3 ... 6 7 8] b"
StringFormat([i32([[1, 2], [3, 4]]), "x"], template = "{} {}", placeholder = "{}", summarize = -1) = "[[1 2]\n [3 4]] \"x\""
StringFormat([true, f32(1e-7), f64(0.1), f32(0.33333334), f32(123456789), i8(-5)], template = "%s %s %s %s %s %s") = "1 1e-07 0.1 0.333333343 123456792 -5"
StringFormat([i32([0, 1, 2, 3, 4, 5, 6, 7])], summarize = 0) = "[ ...]"
StringFormat([i32([[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [12, 13, 14, 15, 16, 17]])], summarize = 1) = "[[0 ... 5]\n ...\n [12 ... 17]]"
StringFormat([i32([1])], template = "a")                     : the template has 0 placeholders, but there are 1 inputs
StringFormat([i32([1])], summarize = -2)                     : summarize is -2, expected at least -1
StringFormat([i32([1])], placeholder = "")                   : placeholder is empty
Print(3, [4, "a"], message = "m")                            = 3
PrintV2(["a", "b"])                                          : expected a scalar
StringFormat([5, ["é\t"]], template = "%s %s", summarize = 0)         = "... [ ...]"
StringFormat([["日", "a\nb\x7f"]])                            = "[\"日\" \"a\\nb\\177\"]"
