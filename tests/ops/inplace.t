# By hand: indices count modulo the rows, and are applied one after another.
InplaceUpdate(f32([[1, 2], [3, 4], [5, 6]]), i32([-1, 3]), f32([[7, 8], [9, 0]]))   = [[9, 0], [3, 4], [7, 8]]
InplaceUpdate(["a", "b"], i32([1]), ["longer than a few bytes, so that it is copied"]) = ["a", "longer than a few bytes, so that it is copied"]
InplaceAdd(i32([1, 2, 3]), i32([0, 0]), i32([1, 2]))                                 = [4, 2, 3]
InplaceSub(i32([1, 2, 3]), i32([2, 5]), i32([1, 2]))                                 = [1, 2, 0]
InplaceAdd(zeros([2, 0], f32), i32([5]), zeros([1, 0], f32))                          = [[], []]
InplaceAdd(f32([1, 2]), i32(0), f32([1]))                                            : input 1 has shape []
InplaceAdd(f32(1), i32([0]), f32(1))                                                 : x is a scalar, expected rows
InplaceAdd(f32([[1, 2]]), i32([0]), f32([[1, 2, 3]]))                                : v has shape [1,3], expected [1,2]: a row of x for each index
InplaceAdd(f32([1, 2]), i32([0, 1]), f32([1]))                                       : v has shape [1], expected [2]: a row of x for each index
