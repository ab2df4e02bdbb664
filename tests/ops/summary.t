# Summaries; the bytes are those of TensorFlow 2.21.
ScalarSummary(["a"], f32([1]))                               = "\n\x08\n\x01a\x15\x00\x00\x80?"
ScalarSummary("b", f32(2))                                   = "\n\x08\n\x01b\x15\x00\x00\x00@"
ScalarSummary(["a", "b"], f32([1]))                          : tags have shape [2] and values [1], expected equal shapes
MergeSummary(["\n\x08\n\x01a\x15\x00\x00\x80?", "\n\x08\n\x01b\x15\x00\x00\x00@"]) = "\n\x08\n\x01a\x15\x00\x00\x80?\n\x08\n\x01b\x15\x00\x00\x00@"
MergeSummary(["\n\x08\n\x01a\x15\x00\x00\x80?", "\n\x08\n\x01a\x15\x00\x00\x00@"]) : input 1: tag 'a' is in more than one summary
MergeSummary(["\n\x0899"])                                   : input 0: the summary is damaged
MergeSummary(["\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"]) : input 0: the summary is damaged
TensorSummaryV2("h", f32([1, 2]), "")                        = "\n\x19\n\x01hB\x12\x08\x01\x12\x04\x12\x02\x08\x02\"\x08\x00\x00\x80?\x00\x00\x00@J\x00"
TensorSummaryV2("h", ["a", "b"], "q")                        = "\n\x16\n\x01hB\x0e\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x01bJ\x01q"
TensorSummaryV2("h", i32(3), "")                             = "\n\x11\n\x01hB\n\x08\x03\x12\x00\"\x04\x03\x00\x00\x00J\x00"
HistogramSummary("h", f32([0, nan]))                         : element 1 is NaN, which has no place in a histogram
HistogramSummary("h", f64([1e308, inf]))                     : element 1 is infinite
