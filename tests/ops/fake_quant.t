# 2 bits: 4 values 0, 1, 2, 3 for the range [0, 3]; halves are rounded up; outside of the range to its ends.
FakeQuantWithMinMaxArgs([-1, 0.4, 0.5, 1.5, 2.6, 9], min = 0, max = 3, num_bits = 2) = [0, 0, 1, 2, 3, 3]
FakeQuantWithMinMaxArgs([-9, -0.6, 0.2, 9], min = -1, max = 1, num_bits = 2, narrow_range = true) = [-1, -1, 0, 1]
FakeQuantWithMinMaxArgs([1], min = 1, max = 1)             : min is 1 and max 1, expected min < max
FakeQuantWithMinMaxArgs([1], num_bits = 17)                : num_bits is 17, expected 2 to 16
# The range [0.4, 3.4] is moved to [0, 3], which has 0.
FakeQuantWithMinMaxVars([0.4, 3.4], 0.4, 3.4, num_bits = 2) = [0, 3]
FakeQuantWithMinMaxVars([0.4, -3.4], 0.0, 0.0)             = [0, 0]
FakeQuantWithMinMaxVars([1], 2.0, 1.0)                     : min is 2 and max 1, expected min <= max
FakeQuantWithMinMaxVars([1], [0], [1])                     : min has shape [1], expected []
FakeQuantWithMinMaxVarsPerChannel([[1.6, 1.6], [7, -7]], [0, 0], [3, 6], num_bits = 2) = [[2, 2], [3, 0]]
FakeQuantWithMinMaxVarsPerChannel([1], 0.0, 1.0)           : min has shape [], expected [1]
FakeQuantWithMinMaxVarsPerChannel(f32(1), [0], [1])        : inputs are a scalar
FakeQuantWithMinMaxArgsGradient([1, 2, 3], [-1, 0, 4], min = 0, max = 3, num_bits = 2) = [0, 2, 0]
FakeQuantWithMinMaxVarsGradient([1, 2, 4, 8], [-1, 0, 4, 5], 0.0, 3.0, num_bits = 2) = [0, 2, 0, 0], 1, 12
FakeQuantWithMinMaxVarsPerChannelGradient([[1, 2], [4, 8]], [[-1, 0], [4, 5]], [0, 0], [3, 6], num_bits = 2) = [[0, 2], [0, 8]], [1, 0], [4, 0]
FakeQuantWithMinMaxVarsGradient([1, 2], [1], 0.0, 1.0)     : gradients have shape [2] and inputs [1]
