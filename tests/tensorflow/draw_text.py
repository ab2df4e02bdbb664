"""Draws of ops on strings: tests/tensorflow/ops.py."""
import numpy

WORDS = ["", "a", "Ab", "hello world", " x  y ", "\t tab\n", "1,2,,3", "--", "a-b--c", "naïve", "日本 語", "aaab", "AbAb",
         "foo123bar", "x=1;y=22", "end.", "a.b.c", "long " * 20, "z" * 70, "0123456789abcdef" * 2, "k\u212a", "a\nb\nc"]


def text(r, words=WORDS):
    if r.random() < 0.7:
        return str(r.choice(words)).encode()
    return "".join(r.choice(list("aAbB1 -_.,\n\u00e9\u65e5"), r.integers(0, 90))).encode()


def strings(r, size, words=WORDS):
    count = int(numpy.prod(size))
    made = numpy.empty(count, object)
    made[:] = [text(r, words) for _ in range(count)]
    return made.reshape(size)


def shape(r, most=3):
    return [*map(int, r.integers(0 if r.random() < 0.1 else 1, 5, r.integers(0, most + 1)))]


def scalar(s):
    made = numpy.empty((), object)
    made[()] = s.encode() if isinstance(s, str) else s
    return made


def plain(r):
    return {"inputs": [strings(r, shape(r))]}


def cased(r):
    ascii_only = [w for w in WORDS if w.isascii()]
    made = strings(r, shape(r), ascii_only)
    encoded = r.random() < 0.5
    if encoded:
        made = numpy.array([s.decode("ascii", "ignore").encode() for s in made.ravel()], object).reshape(made.shape)
    return {"inputs": [made], "attrs": {"encoding": "utf-8" if encoded else ""}}


def encode(r):
    return {"inputs": [strings(r, shape(r))], "attrs": {"pad": bool(r.integers(2))}}


def decode(r):
    words = ["", "YQ", "YQ==", "YWI", "YWI=", "YWJj", "_-8", "a+/b", "YQ=", "Y", "YQ===", "____", "Y\n", "YW==Yg"]
    return {"inputs": [scalar(str(r.choice(words)))]}


def buckets(r):
    return {"inputs": [strings(r, shape(r))], "attrs": {"num_buckets": int(r.choice([1, 10, 1000, 2**31, 2**62]))}}


def strong(r):
    draw = buckets(r)
    draw["attrs"]["key"] = [int(k) for k in r.integers(-2**62, 2**62, 2 if r.random() < 0.95 else 1)]
    return draw


def split_v2(r):
    return {"inputs": [strings(r, [int(r.integers(0, 5))]), scalar(str(r.choice(["", "", " ", "-", "--", ",", "a", "é"])))],
            "attrs": {"maxsplit": int(r.choice([-1, -1, 0, 1, 2, 3]))}}


def split_v1(r):
    return {"inputs": [strings(r, [int(r.integers(0, 5))]), scalar(str(r.choice(["", " ", "-", ",-", "ab", " ,"])))],
            "attrs": {"skip_empty": bool(r.integers(2))}}


def ngrams(r):
    n, rows = int(r.integers(0, 9)), int(r.integers(0, 5))
    splits = numpy.concatenate([[0], numpy.sort(r.integers(0, n + 1, rows)), [n]])
    if r.random() < 0.05:
        splits[-1] += 1
    return {"inputs": [strings(r, [n]), splits.astype(r.choice(["i4", "i8"]))],
            "attrs": {"separator": str(r.choice(["", " ", "|"])), "ngram_widths": [int(w) for w in r.integers(1, 5, r.integers(0, 4))],
                      "left_pad": str(r.choice(["", "LP"])), "right_pad": str(r.choice(["", "RP"])),
                      "pad_width": int(r.integers(-1, 4)), "preserve_short_sequences": bool(r.integers(2))}}


def reduce_join(r):
    size = shape(r)
    rank = len(size)
    axes = r.permutation(rank)[:r.integers(0, rank + 1)].astype("i4") if rank else numpy.zeros(0, "i4")
    axes = numpy.where(r.random(axes.shape) < 0.5, axes, axes - rank).astype("i4")
    if r.random() < 0.05 and rank:
        axes = numpy.append(axes, [0]).astype("i4")
    if axes.size == 1 and r.random() < 0.3:
        axes = axes.reshape([])
    return {"inputs": [strings(r, size), axes], "attrs": {"keep_dims": bool(r.integers(2)), "separator": str(r.choice(["", ", "]))},
            "const": (1,) if r.random() < 0.5 else ()}


def segment_join(r):
    size = shape(r)
    prefix = size[:r.integers(0, len(size) + 1)]
    ids = r.integers(-1 if r.random() < 0.2 else 0, 6 if r.random() < 0.1 else 5, prefix)
    return {"inputs": [strings(r, size), numpy.asarray(ids, r.choice(["i4", "i8"])), numpy.array(5, r.choice(["i4", "i8"]))],
            "attrs": {"separator": str(r.choice(["", "+"]))}}


ATOMS = ["a", "b", "A", ".", "[a-c]", "[^a]", "\\d", "\\w", "\\s", "\\W", "[[:alpha:]]", "\\.", "(a|b)", "(?:ab|a)", "(a)", "(b*)",
         "^", "$", "\\b", "\\x61", "é", "[é日]", "(?i:b)", "(?s).", "(|a)", "(a|)", "x{2}", "\\Qa.\\E", "\\n", "(?P<n>a)", "-",
         "[\\d_]", "[]a]", "[a\\]]", "\\z", "(?m)^", "(?m)$", "(?i:AB)", "[[:^digit:]]", "{", "a{,2}", "\\", "(", ")", "[b-a]",
         "(?U)a*", "\\141", "\\07", "\\1", "\\_", "[a-", "[-a]", "(?i)k"]
REPEATS = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}", "{2,3}?", "{0}", "**", "{1001}"]


def pattern(r, depth=0):
    parts = []
    for _ in range(r.integers(1, 4)):
        if depth < 2 and r.random() < 0.2:
            parts.append(f"({pattern(r, depth + 1)}|{pattern(r, depth + 1)})" + str(r.choice(REPEATS[:15])))
        else:
            parts.append(str(r.choice(ATOMS if r.random() < 0.1 else ATOMS[:31])) + str(r.choice(REPEATS if r.random() < 0.1 else REPEATS[:15])))
    return "".join(parts)


TARGETS = ["", "a", "b", "ab", "aab", "abab", "aAbB", "a b", "a-b", "xx", "a.b", "éa日", "ba", "a\nb", "foo1", "bbb", "__a"]


def targets(r):
    return strings(r, [int(r.integers(1, 6))], TARGETS)


def match(r):
    return {"inputs": [targets(r), scalar(pattern(r))]}


def static_match(r):
    return {"inputs": [targets(r)], "attrs": {"pattern": pattern(r)}}


def rewrite(r):
    return str(r.choice(["", "X", "<\\0>", "\\1-", "\\\\", "[\\2]", "é"], p=[.15, .2, .25, .2, .1, .03, .07]))


def replace(r):
    return {"inputs": [targets(r), scalar(pattern(r)), scalar(rewrite(r))], "attrs": {"replace_global": bool(r.integers(4))}}


def static_replace(r):
    return {"inputs": [targets(r)], "attrs": {"pattern": pattern(r), "rewrite": rewrite(r), "replace_global": bool(r.integers(4))}}


DRAWS = {"StringLower": cased, "StringUpper": cased, "StringStrip": plain, "EncodeBase64": encode, "DecodeBase64": decode,
         "StringToHashBucketFast": buckets, "StringToHashBucket": buckets, "StringToHashBucketStrong": strong,
         "StringSplitV2": split_v2, "StringSplit": split_v1, "StringNGrams": ngrams, "ReduceJoin": reduce_join,
         "UnsortedSegmentJoin": segment_join, "RegexFullMatch": match, "StaticRegexFullMatch": static_match,
         "RegexReplace": replace, "StaticRegexReplace": static_replace}
