# Slices of the order of a parallel loop's iterations. More of their order is in tests/unit/loop_schedule.c.
Dfg>LoopSlice(i64([5, 3, 1, 7]), i64([0, 3, 4]), 0, T = i64)     = [5, 3, 1]
Dfg>LoopSlice(i64([5, 3, 1, 7]), i64([0, 3, 4]), 1, T = i32)     = [7]
Dfg>LoopSlice(i64([5]), i64([0, 0, 1]), i64(0), T = i32)         = []
Dfg>LoopSlice(i64([5]), i64([0, 1]), 1, T = i32)                 : slice 1 is outside [0,1)
Dfg>LoopSlice(i64([5]), i64([0, 1]), -1, T = i32)                : slice -1 is outside [0,1)
Dfg>LoopSlice(i64([5]), i64([1, 2]), 0, T = i32)                 : slice 0 is [1, 2), which is not in the 1 values
Dfg>LoopSlice(i64([5]), i64([1, 0]), 0, T = i32)                 : slice 0 is [1, 0), which is not in the 1 values
# Iteration 1 writes the row of iteration 0; iteration 2 is in the second block.
Dfg>LoopSchedule(i64(3), i64([]), i64([]), [i64([4, 4, 5])], loop = "l", blocks = 2, arrays = [0], writes = [1], depths = [1]) = [0, 2, 1], [0, 2, 3], [0, 1, 0]
Dfg>LoopSchedule(i64(0), i64([]), i64([]), [i64([])], loop = "l", blocks = 2) = [], [0], []
Dfg>LoopSchedule(i64(2), i64([]), i64([]), [i64([4])], loop = "l", blocks = 2) : input 3 has shape [1], expected one number for each of 2 iterations
Dfg>LoopSchedule(i64(1), i64([]), i64([]), [i64([4])], loop = "l", blocks = 2, arrays = [0]) : must have the same length
Dfg>LoopSchedule(i64(1), i64([]), i64([]), [i64([4])], loop = "l", blocks = 2, arrays = [0], writes = [1], depths = [2]) : access 0 has 2 keys of array 0, which do not fit
Dfg>LoopSchedule(i64(1), i64([]), i64([]), [i64([4])], loop = "l", blocks = 2, clock = "rotation") : requires the time coordinates
