# Functions of single strings; results of TensorFlow 2.21.
StringLower(["Ab", "É"])                                    = ["ab", "É"]
StringUpper(["a-b"])                                        = ["A-B"]
StringLower("É", encoding = "utf-8")                        : string 0: byte 0 is 0xc3: only the case of letters of ASCII is known
StringUpper("a", encoding = "latin1")                       : encoding is 'latin1', expected 'utf-8' or ''
StringStrip([" a b\t\n", "", "  "])                         = ["a b", "", ""]
EncodeBase64(["a", "ab?~", ""])                             = ["YQ", "YWI_fg", ""]
EncodeBase64("a", pad = true)                               = "YQ=="
DecodeBase64(["YQ", "YQ==", "YWI_fg", ""])                  = ["a", "a", "ab?~", ""]
DecodeBase64(["a+/b"])                                      : string 0: not URL-safe base64
DecodeBase64("YQ=")                                         : not URL-safe base64
StringToHashBucketFast(["", "a", "hello world", "0123456789abcdef0123456789abcdef", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"], num_buckets = 1000) = i64([263, 939, 11, 840, 619])
StringToHashBucket(["", "a", "hello world"], num_buckets = 1000) = i64([899, 868, 655])
StringToHashBucketStrong(["", "a", "hello world"], num_buckets = 1000, key = [1, 2]) = i64([435, 646, 446])
StringToHashBucketStrong("a", num_buckets = 10, key = [1])  : key has 1 numbers, expected 2
StringToHashBucketFast("a", num_buckets = 0)                : num_buckets
