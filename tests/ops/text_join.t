# Strings of a tensor joined; results of TensorFlow 2.21.
ReduceJoin([["a", "b"], ["c", "d"]], [0])                   = ["ac", "bd"]
ReduceJoin([["a", "b"], ["c", "d"]], [-1], separator = "-") = ["a-b", "c-d"]
ReduceJoin([["a", "b"], ["c", "d"]], [0, 1])                = "acbd"
ReduceJoin([["a", "b"], ["c", "d"]], [1, 0])                = "abcd"
ReduceJoin([["a", "b"], ["c", "d"]], [0], keep_dims = true) = [["ac", "bd"]]
ReduceJoin([["a", "b"]], i32([]))                           = [["a", "b"]]
ReduceJoin([["a", "b"]], [0, -2])                           : axis 0 is listed twice
ReduceJoin([["a", "b"]], [2])                               : axis
UnsortedSegmentJoin(["a", "b", "c"], [1, 0, 1], 3, separator = "+") = ["b", "a+c", ""]
UnsortedSegmentJoin([["a", "x"], ["b", "y"]], [1, 1], 2)    = [["", ""], ["ab", "xy"]]
UnsortedSegmentJoin([["a"], ["b"]], [[0], [1]], 2)          = ["a", "b"]
UnsortedSegmentJoin(["a", "b"], [0, 2], 2)                  : element 1 of segment_ids is 2, outside [0,2)
UnsortedSegmentJoin(["a", "b"], [-1, 0], 2)                 : element 0 of segment_ids is -1
UnsortedSegmentJoin("a", 0, 2)                              : segment_ids is a scalar
UnsortedSegmentJoin(["a", "b"], [0, 0, 0], 2)               : segment_ids has shape [3], expected the first dimensions of inputs [2]
UnsortedSegmentJoin(["", "a", "", "b"], [0, 0, 0, 0], 1, separator = "+") = ["a++b"]
