# Serialised tensors; bytes of TensorFlow 2.21.
SerializeTensor(["a"])                                       = "\x08\x07\x12\x04\x12\x02\x08\x01B\x01a"
ParseTensor("\x08\x03\x12\x04\x12\x02\x08\x02\"\x08\x01\x00\x00\x00\x02\x00\x00\x00", out_type = i32) = [1, 2]
ParseTensor("\x08\x03\x12\x04\x12\x02\x08\x03:\x02\x05\x06", out_type = i32) = [5, 6, 6]
ParseTensor("\x08\x03\x12\x04\x12\x02\x08\x02\"\x08\x01\x00\x00\x00\x02\x00\x00\x00", out_type = f32) : the serialized tensor has i32, expected f32
ParseTensor("\x08\x03\x12\x04\x12\x02\x08\x03\"\x08\x01\x00\x00\x00\x02\x00\x00\x00", out_type = i32) : does not have the values of shape [3]
ParseTensor("\x08\x03\x12\x04\x12\x02\x08", out_type = i32)  : the serialized tensor is damaged
ParseTensor("\x08\x03\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", out_type = i32) : dimension 0 of the serialized tensor is -1
ParseTensor(["a"], out_type = i32)                           : input 0 has shape [1]
