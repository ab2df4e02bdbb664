# By hand; images are written in tests/images.
EncodePng(u8([1, 2]))                  : input 0 has shape [2], expected at least 3 axes
EncodePng(u8([[[1, 2, 3, 4, 5]]]))     : image has shape [1,1,5], expected height, width, and 1 to 4 channels
EncodePng(u8([[[1]]]), compression = 10) : compression is 10, expected -1, or 0 to 9
EncodeJpeg(u8([[[1, 2]]]))             : image has 2 channels, expected 1 or 3
EncodeJpeg(u8([[[1]]]), format = "rgb") : image has 1 channels, expected 3 for rgb
EncodeJpeg(u8([[[1]]]), quality = 101) : quality is 101, expected 0 to 100
EncodeJpeg(u8([[[1]]]), x_density = 65536) : x_density is 65536, expected 0 to 65535
EncodeJpegVariableQuality(u8([[[1]]]), 101) : quality is 101, expected 0 to 100
