# Regular expressions; results of TensorFlow 2.21 (RE2).
RegexFullMatch(["abc", "ab", "xabc"], "a.c")                = [true, false, false]
RegexFullMatch("", "a*")                                    = true
StaticRegexFullMatch(["aaa", "日本"], pattern = "a{2,3}|\\W+") = [true, true]
StaticRegexFullMatch(["AB", "Ab"], pattern = "(?i)a(?-i)B") = [true, false]
RegexReplace(["hello world"], "(\\w+) (\\w+)", "\\2 \\1")   = ["world hello"]
RegexReplace("aab", "a", "x", replace_global = false)       = "xab"
RegexReplace("abc", "", "-")                                = "-a-b-c-"
RegexReplace("baaac", "a*?", "x")                           = "xbxaxaxaxcx"
RegexReplace("a.b.c", "\\.", "\\\\")                        = "a\\b\\c"
StaticRegexReplace(["x=1;y=22"], pattern = "(?P<k>\\w)=(\\d+)", rewrite = "<\\0>\\2") = ["<x=1>1;<y=22>22"]
StaticRegexReplace("foobar", pattern = "(foo|foobar)", rewrite = "[\\1]") = "[foo]bar"
StaticRegexReplace("ab\ncd", pattern = "(?m)^.", rewrite = "*") = "*b\n*d"
StaticRegexReplace("a b", pattern = "\\b", rewrite = "|")   = "|a| |b|"
StaticRegexFullMatch("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", pattern = "(a*)*b") = false
RegexReplace("a", "(", "x")                                 : regular expression: a group is not closed: add )
RegexReplace("a", "a**", "x")                               : regular expression: a repetition of a repetition at byte 3
RegexReplace("a", "[b-a]", "x")                             : a range whose end is before its beginning
RegexReplace("a", "a{1001}", "x")                           : an invalid number of repetitions
RegexReplace("a", "((((a{100}){100}){100}){100}){100}", "x") : more than 65536 instructions
RegexReplace("a", "a", "\\1")                               = "a"
RegexReplace("a", "a", "\\x")                               : rewrite has a backslash at byte 0
RegexReplace("a", ["a"], "x")                               : input 1 has shape [1], expected a scalar
StaticRegexFullMatch("a", pattern = "\\pL")                 : classes of Unicode and single bytes are not available
RegexReplace("é日", "\\B", "-")                              = "-é-日-"
