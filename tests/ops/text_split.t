# Strings cut into tokens, and runs of tokens; results of TensorFlow 2.21.
StringSplitV2(["a b", "", " c  d "], "")                    = i64([[0, 0], [0, 1], [2, 0], [2, 1]]), ["a", "b", "c", "d"], i64([3, 2])
StringSplitV2(["a--b--", "x"], "--")                        = i64([[0, 0], [0, 1], [0, 2], [1, 0]]), ["a", "b", "", "x"], i64([2, 3])
StringSplitV2(["a b c"], " ", maxsplit = 1)                 = i64([[0, 0], [0, 1]]), ["a", "b c"], i64([1, 2])
StringSplitV2("a", " ")                                     : input 0 has shape [], expected a vector
StringSplit(["a,b-c", ",,"], ",-")                          = i64([[0, 0], [0, 1], [0, 2]]), ["a", "b", "c"], i64([2, 3])
StringSplit(["a,", ""], ",", skip_empty = false)            = i64([[0, 0], [0, 1]]), ["a", ""], i64([2, 2])
StringSplit(["ab"], "")                                     = i64([[0, 0], [0, 1]]), ["a", "b"], i64([1, 2])
StringNGrams(["a", "b", "c", "d"], i64([0, 3, 4]), separator = "|", ngram_widths = [2], left_pad = "", right_pad = "", pad_width = 0, preserve_short_sequences = false) = ["a|b", "b|c"], i64([0, 2, 2])
StringNGrams(["a", "b"], i32([0, 2]), separator = "|", ngram_widths = [2, 3], left_pad = "L", right_pad = "R", pad_width = 1, preserve_short_sequences = false) = ["L|a", "a|b", "b|R", "L|a|b", "a|b|R"], i32([0, 5])
StringNGrams(["a", "b"], i64([0, 2]), separator = " ", ngram_widths = [5], left_pad = "L", right_pad = "R", pad_width = 1, preserve_short_sequences = true) = ["L a b R"], i64([0, 1])
StringNGrams(["a"], i64([0, 2]), separator = " ", ngram_widths = [1], left_pad = "", right_pad = "", pad_width = 0, preserve_short_sequences = false) : the last split is 2, expected the 1 strings of data
StringNGrams(["a"], i64([1, 1]), separator = " ", ngram_widths = [1], left_pad = "", right_pad = "", pad_width = 0, preserve_short_sequences = false) : split 0 is 1, expected exactly 0
StringNGrams(["a"], i64([0, 1]), separator = " ", ngram_widths = [0], left_pad = "", right_pad = "", pad_width = 0, preserve_short_sequences = false) : width 0 is 0, expected at least 1
StringNGrams(["a"], i64([0, 1]), separator = " ", ngram_widths = [2000000000], left_pad = "", right_pad = "", pad_width = -1, preserve_short_sequences = false) : width 2000000000 is more than
StringNGrams(["a", "b"], i64([0, 2]), separator = "|", ngram_widths = [], left_pad = "L", right_pad = "", pad_width = 1, preserve_short_sequences = true) = ["L|a|b|"], i64([0, 1])
StringNGrams(["a"], i64([0, 1]), separator = "|", ngram_widths = [], left_pad = "", right_pad = "", pad_width = -1, preserve_short_sequences = true) : ngram_widths is empty
