StatelessParameterizedTruncatedNormal([2], [1, 2], 0.0, -1.0, 0.0, 1.0) : stddev -1, minval 0 and maxval 1: expected stddev > 0 and minval < maxval, one of them finite
StatelessParameterizedTruncatedNormal([2], [1, 2], 0.0, 1.0, f32(-inf), f32(inf)) : expected stddev > 0 and minval < maxval, one of them finite
StatelessParameterizedTruncatedNormal([0], [1, 2], 0.0, 1.0, 0.0, 1.0)  = []
