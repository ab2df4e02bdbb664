# Scalars are true where they are not zero, other tensors where they have elements.
ToBool(true) = true
ToBool(false) = false
ToBool(0) = false
ToBool(-3) = true
ToBool(f32(0)) = false
ToBool(f64(-0.5)) = true
ToBool("") = false
ToBool("0") = true
ToBool([0, 0]) = true
ToBool([false]) = true
