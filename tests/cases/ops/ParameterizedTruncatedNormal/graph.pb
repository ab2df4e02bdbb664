
0
d0/x0Placeholder*
shape:*
dtype0
0
d0/x1Placeholder*
shape:*
dtype0
0
d0/x2Placeholder*
shape:*
dtype0
0
d0/x3Placeholder*
shape:*
dtype0
0
d0/x4Placeholder*
shape:*
dtype0
~
d0ParameterizedTruncatedNormald0/x0d0/x1d0/x2d0/x3d0/x4*
seed2«»ö®µ*
seedò≤„’è*
T0*
dtype0
0
d1/x0Placeholder*
shape:*
dtype0	
0
d1/x1Placeholder*
shape:*
dtype0
0
d1/x2Placeholder*
shape:*
dtype0
0
d1/x3Placeholder*
shape:*
dtype0
0
d1/x4Placeholder*
shape:*
dtype0
~
d1ParameterizedTruncatedNormald1/x0d1/x1d1/x2d1/x3d1/x4*
seed2æ„Èˇÿ*
seedî»·áÏ*
T0	*
dtype0
0
d2/x0Placeholder*
shape:*
dtype0
0
d2/x1Placeholder*
shape:*
dtype0
0
d2/x2Placeholder*
shape:*
dtype0
0
d2/x3Placeholder*
shape:*
dtype0
0
d2/x4Placeholder*
shape:*
dtype0
~
d2ParameterizedTruncatedNormald2/x0d2/x1d2/x2d2/x3d2/x4*
seedÛÎ¥òÊ
*
seed2Ãˇ˝±í*
T0*
dtype0
0
d3/x0Placeholder*
shape:*
dtype0
0
d3/x1Placeholder*
shape:*
dtype0
0
d3/x2Placeholder*
shape:*
dtype0
0
d3/x3Placeholder*
shape:*
dtype0
0
d3/x4Placeholder*
shape:*
dtype0
~
d3ParameterizedTruncatedNormald3/x0d3/x1d3/x2d3/x3d3/x4*
seed2˝™’‰ã*
seedßêò∆˝*
T0*
dtype0
0
d4/x0Placeholder*
shape:*
dtype0
0
d4/x1Placeholder*
shape:*
dtype0
0
d4/x2Placeholder*
shape:*
dtype0
0
d4/x3Placeholder*
shape:*
dtype0
0
d4/x4Placeholder*
shape:*
dtype0
~
d4ParameterizedTruncatedNormald4/x0d4/x1d4/x2d4/x3d4/x4*
seedΩÙ»ûÜ*
seed2Ì¨Å‹Å*
T0*
dtype0
0
d5/x0Placeholder*
shape:*
dtype0	
0
d5/x1Placeholder*
shape:*
dtype0
0
d5/x2Placeholder*
shape:*
dtype0
0
d5/x3Placeholder*
shape:*
dtype0
0
d5/x4Placeholder*
shape:*
dtype0
~
d5ParameterizedTruncatedNormald5/x0d5/x1d5/x2d5/x3d5/x4*
seed2˛ß´Îù*
seed°Î»≠Î*
T0	*
dtype0
0
d6/x0Placeholder*
shape:*
dtype0
0
d6/x1Placeholder*
shape:*
dtype0
0
d6/x2Placeholder*
shape:*
dtype0
0
d6/x3Placeholder*
shape:*
dtype0
0
d6/x4Placeholder*
shape:*
dtype0
~
d6ParameterizedTruncatedNormald6/x0d6/x1d6/x2d6/x3d6/x4*
seed2’ÚÒÂ◊*
seed∏ñÑ∫¨*
T0*
dtype0
0
d7/x0Placeholder*
shape:*
dtype0
0
d7/x1Placeholder*
shape:*
dtype0
0
d7/x2Placeholder*
shape:*
dtype0
0
d7/x3Placeholder*
shape:*
dtype0
0
d7/x4Placeholder*
shape:*
dtype0
~
d7ParameterizedTruncatedNormald7/x0d7/x1d7/x2d7/x3d7/x4*
seed§Î≈º›*
seed2ïˇÆ´å*
T0*
dtype0
0
d8/x0Placeholder*
shape:*
dtype0
0
d8/x1Placeholder*
shape:*
dtype0
0
d8/x2Placeholder*
shape:*
dtype0
0
d8/x3Placeholder*
shape:*
dtype0
0
d8/x4Placeholder*
shape:*
dtype0
~
d8ParameterizedTruncatedNormald8/x0d8/x1d8/x2d8/x3d8/x4*
seed2ÇÚÚÅﬂ*
seedÎ±ç≥÷*
T0*
dtype0
0
d9/x0Placeholder*
shape:*
dtype0	
0
d9/x1Placeholder*
shape:*
dtype0
0
d9/x2Placeholder*
shape:*
dtype0
0
d9/x3Placeholder*
shape:*
dtype0
0
d9/x4Placeholder*
shape:*
dtype0
~
d9ParameterizedTruncatedNormald9/x0d9/x1d9/x2d9/x3d9/x4*
seedÔ π⁄ê*
seed2…˝å˜ë*
T0	*
dtype0
1
d10/x0Placeholder*
shape:*
dtype0	
1
d10/x1Placeholder*
shape:*
dtype0
1
d10/x2Placeholder*
shape:*
dtype0
1
d10/x3Placeholder*
shape:*
dtype0
1
d10/x4Placeholder*
shape:*
dtype0
Ñ
d10ParameterizedTruncatedNormald10/x0d10/x1d10/x2d10/x3d10/x4*
seed2ÈÕ·Ô¯	*
seed∂ê¬ƒ≤*
T0	*
dtype0
1
d11/x0Placeholder*
shape:*
dtype0	
1
d11/x1Placeholder*
shape:*
dtype0
1
d11/x2Placeholder*
shape:*
dtype0
1
d11/x3Placeholder*
shape:*
dtype0
1
d11/x4Placeholder*
shape:*
dtype0
Ñ
d11ParameterizedTruncatedNormald11/x0d11/x1d11/x2d11/x3d11/x4*
seedΩ¸¿ÂÒ*
seed2¯û≤¬∑*
T0	*
dtype0
1
d12/x0Placeholder*
shape:*
dtype0	
1
d12/x1Placeholder*
shape:*
dtype0
1
d12/x2Placeholder*
shape:*
dtype0
1
d12/x3Placeholder*
shape:*
dtype0
1
d12/x4Placeholder*
shape:*
dtype0
Ñ
d12ParameterizedTruncatedNormald12/x0d12/x1d12/x2d12/x3d12/x4*
seed2Ñ¯Ô‘‡*
seed¯‚îóŒ	*
T0	*
dtype0
1
d13/x0Placeholder*
shape:*
dtype0
1
d13/x1Placeholder*
shape:*
dtype0
1
d13/x2Placeholder*
shape:*
dtype0
1
d13/x3Placeholder*
shape:*
dtype0
1
d13/x4Placeholder*
shape:*
dtype0
Ñ
d13ParameterizedTruncatedNormald13/x0d13/x1d13/x2d13/x3d13/x4*
seed—ˆÅ–ú
*
seed2Ú˜âóÍ*
T0*
dtype0"™