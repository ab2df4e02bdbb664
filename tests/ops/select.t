# Select, whose inputs do not broadcast.
Select([true, false], [1, 2], [10, 20])                     = [1, 20]
Select([true, false], [[1, 2], [3, 4]], [[5, 6], [7, 8]])   = [[1, 2], [7, 8]]
Select(false, [1, 2], [10, 20])                             = [10, 20]
Select([true, false], ["a", "b"], ["c", "d"])               = ["a", "d"]
Select([true], [1, 2], [10, 20])                            : the condition has shape [1], expected [2], a scalar or a vector of its rows
Select([true, false], [1, 2], [10])                         : t has shape [2] and e [1], expected equal shapes
Select(true, 1, 2)                                          = 1
Select([], [], [])                                          = []
Select([true, false], f32([nan, 1]), f32([2, inf]))         = [nan, inf]
Select([[true], [false]], [[1], [2]], [[3], [4]])           = [[1], [4]]
Select([[true]], [1], [2])                                  : the condition has shape [1,1]
