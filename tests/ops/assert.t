Assert(false, [[1, 2, 3, 4], "seen"])        : assertion failed: [1 2 3...] [seen]
Assert(false, [2.5], summarize = 0)          : assertion failed: [...]
Assert([true, false], ["x"])                 : the condition has shape [2], expected a scalar
