# Refusals; elements that wait and are taken are recorded in tests/cases/ops/Staging.
Stage([f32([1, 2])], memory_limit = 7)                 : the values have 8 bytes, more than memory_limit = 7
Stage([f32([1])], capacity = -1)                       : attribute 'capacity' is -1, must be at least 0
StagePeek(i32(-1), dtypes = [f32])                   : index is -1, expected at least 0
StagePeek(i32([1]), dtypes = [f32])                  : index has shape [1], expected a scalar
StageSize(dtypes = [f32])                            = 0
