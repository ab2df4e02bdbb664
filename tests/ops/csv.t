# Records of fields.
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
DecodeCSV([""], [[7], [8]])                                 : expected 2 fields, found 0
DecodeCSV([], [[1]])                                        = []
DecodeCSV(["1;2"], [[0], [0]], field_delim = ";")           = [1], [2]
DecodeCSV(["NA,3"], [[5], [0]], na_value = "NA")            = [5], [3]
DecodeCSV(["1,2,3"], [[0]], select_cols = [2])              = [3]
DecodeCSV(["1"], [[0]], field_delim = "ab")                 : field_delim must be one character
