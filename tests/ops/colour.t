# Red, yellow and blue are at 0, 1/6 and 2/3 of a turn.
RGBToHSV([[1, 0, 0], [1, 1, 0], [0, 0, 0.5]])           = [[0, 1, 1], [0.16666666666666666, 1, 1], [0.6666666666666666, 1, 0.5]]
RGBToHSV([[0.5, 0.5, 0.5], [0, 0, 0], [1, 0.5, 0.75]])  = [[0, 0, 0.5], [0, 0, 0], [0.9166666666666666, 0.5, 1]]
RGBToHSV([0.2, 0.9, 0.4])                               = [0.38095238095238093, 0.7777777777777778, 0.9]
RGBToHSV([0.1, 0.3, 0.7])                               = [0.6111111111111112, 0.8571428571428571, 0.7]
RGBToHSV([1, 2])                                        : the images have shape [2], expected 3 channels
RGBToHSV(f64(2))                                        : expected at least 1 dimension
HSVToRGB([[0, 1, 1], [0.5, 1, 0.5], [0.25, 0, 0.75]])   = [[1, 0, 0], [0, 0.5, 0.5], [0.75, 0.75, 0.75]]
HSVToRGB([0.75, 0.5, 1])                                = [0.75, 0.5, 1]
HSVToRGB([[1, 2]])                                      : expected 3 channels
AdjustHue(f32([[[1, 0, 0], [0, 1, 0]]]), f32(0.5))      = [[[0, 1, 1], [1, 0, 1]]]
AdjustHue(f32([[[1, 0, 0]]]), f32(-1.5))                = [[[0, 1, 1]]]
AdjustHue(f32([[[1, 0, 0]]]), f32([1]))                 : input 1 has shape [1], expected a scalar
AdjustHue(f32([1, 0, 0]), f32(1))                       : expected at least 3 dimensions
AdjustSaturation(f32([[[1, 0.5, 0.5]]]), f32(2))        = [[[1, 0, 0]]]
AdjustSaturation(f32([[[1, 0.5, 0.5]]]), f32(0))        = [[[1, 1, 1]]]
AdjustSaturation(f32([[[1, 0.5, 0.5]]]), f32(9))        = [[[1, 0, 0]]]
AdjustContrastv2(f32([[[1, 2], [3, 6]]]), f32(2))       = [[[0, 0], [4, 8]]]
AdjustContrastv2(f16([[[1], [3]]]), f32(0))             = [[[2], [2]]]
AdjustContrastv2(f32([[1, 2]]), f32(2))                 : expected at least 3 dimensions
