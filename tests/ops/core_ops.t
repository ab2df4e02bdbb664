# Ops that do not compute.
DeepCopy([1, 2])                                            = [1, 2]
DeepCopy(["a", ""])                                         = ["a", ""]
DeepCopy(f32([]))                                           = []
Identity([[1, 2]])                                          = [[1, 2]]
IdentityN([[1, 2], "a"])                                    = [1, 2], "a"
PlaceholderWithDefault([1, 2], shape = [2])                 = [1, 2]
PlaceholderWithDefault([1, 2], shape = [3])                 : the default has shape [2], expected the declared shape [3]
