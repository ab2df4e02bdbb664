# By the definition, of symmetric numbers, whose transforms are real. Length 17 is transformed as a convolution.
FFT(c64([1, 2, 3, 2]))                                    = [8, -2, 0, -2]
FFT(c64([[1, 2, 2], [3, 0, 0]]))                          = [[5, -1, -1], [3, 3, 3]]
FFT(c128([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])) = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
FFT(c64([7]))                                             = [7]
FFT(c64(7))                                               : the input has shape [], expected at least 1 dimension
IFFT(c64([8, -2, 0, -2]))                                 = [1, 2, 3, 2]
IFFT(c128([6, 0, 0, 0, 0, 0]))                            = [1, 1, 1, 1, 1, 1]
FFT2D(c64([[1, 2], [3, 4]]))                              = [[10, -2], [-4, 0]]
FFT2D(c64([1, 2]))                                        : the input has shape [2], expected at least 2 dimensions
IFFT2D(c64([[10, -2], [-4, 0]]))                          = [[1, 2], [3, 4]]
FFT3D(c64([[[1, 2], [3, 4]], [[0, 0], [0, 0]]]))          = [[[10, -2], [-4, 0]], [[10, -2], [-4, 0]]]
IFFT3D(c64([[[10, -2], [-4, 0]], [[10, -2], [-4, 0]]]))   = [[[1, 2], [3, 4]], [[0, 0], [0, 0]]]
RFFT(f32([1, 2, 3, 2]), [4])                              = [8, -2, 0]
RFFT(f64([1, 2, 2, 9]), [3], Tcomplex = c128)             = [5, -1]
RFFT(f32([1, 2]), [4])                                    : the input has shape [2], expected at least 4 along dimension 0
RFFT(f32([1, 2]), [0])                                    : 'fft_length' contains 0, expected positive numbers
RFFT(f32([1, 2]), [1, 2])                                 : 'fft_length' has shape [2], expected a vector of 1
RFFT(f32([1, 2]), [2], Tcomplex = c128)                   : the input is f32 and the output c128, expected equal precision
IRFFT(c64([8, -2, 0]), [4])                               = [1, 2, 3, 2]
IRFFT(c64([5, -1]), [3])                                  = [1, 2, 2]
IRFFT(c64([5, -1]), [4])                                  : the input has shape [2], expected at least 3 along dimension 0
RFFT2D(f32([[1, 2], [3, 4]]), [2, 2])                     = [[10, -2], [-4, 0]]
IRFFT2D(c64([[10, -2], [-4, 0]]), [2, 2])                 = [[1, 2], [3, 4]]
RFFT3D(f32([[[1, 2], [3, 4]]]), [1, 2, 2])                = [[[10, -2], [-4, 0]]]
IRFFT3D(c64([[[10, -2], [-4, 0]]]), [1, 2, 2])            = [[[1, 2], [3, 4]]]
