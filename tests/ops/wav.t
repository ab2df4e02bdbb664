# By hand; files are read in tests/cases/ops.
EncodeWav([[0.5]], 0)                        : audio has shape [1,1] and sample_rate is 0, which a WAVE file cannot have
EncodeWav(f32([0.5]), 1)                     : input 0 has shape [1], expected
DecodeWav("RIFF")                            : contents has 4 bytes that are not those of a WAVE file
DecodeWav("RIFFxxxxWAVE")                    : the WAVE file has no chunk 'data' after one 'fmt '
DecodeWav("RIFFxxxxWAVEfmt aaaa")            : the chunk at byte 12 has 1633771873 bytes, but only 0 follow
DecodeWav("RIFF", desired_channels = 0)      : desired_channels is 0 and desired_samples -1
AudioSummaryV2("a", f32([[1]]), f32(nan))                : sample_rate is
AudioSummaryV2("a", f32([[1]]), f32([8]))                : input 2 has shape [1]
AudioSummaryV2("a", f32([1]), f32(8))                    : tensor has shape [1], expected [batch, frames] or [batch, frames, channels]
AudioSummaryV2("a", f32([[1]]), f32(0))                  : sample_rate is 0, expected a number above 0
