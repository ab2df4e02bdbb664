# By hand; files are read in tests/cases/ops and tests/images.
DecodeBmp("BM")                        : a BMP file has 2 bytes, expected at least 32
DecodeBmp("GIF89a")                    : contents has 6 bytes that are GIF, expected BMP
DecodeBmp("BMxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") : a BMP file has 30840 bits a pixel, expected 8, 24 or 32
DecodePng("text")                      : contents has 4 bytes that are of another format, expected PNG or JPEG
DecodePng("")                          : contents has 0 bytes
DecodeJpeg("BMxx")                     : contents has 4 bytes that are BMP, expected JPEG or PNG
DecodeImage("text")                    : expected JPEG, PNG or BMP
DecodePng("", channels = 2)            : channels is 2, expected 0, 1, 3 or 4
DecodePng(["text"])                    : input 0 has shape [1], expected
DecodeJpeg("", channels = 4)           : channels is 4, expected 0, 1 or 3 for JPEG files
DecodeJpeg("", ratio = 3)              : ratio is 3, expected 1, 2, 4 or 8
DecodeJpeg("", dct_method = "SLOW")    : dct_method
DecodeAndCropJpeg("text", [0, 0, 1])   : crop_window has shape [3], expected [4]
DecodeAndCropJpeg("text", [0, 0, 1, 1]) : contents has 4 bytes that are of another format, expected JPEG
ExtractJpegShape("text")               : contents has 4 bytes that are of another format, expected JPEG
