
0
d0/x0Placeholder*
dtype0*
shape:
-
d0/x0cBitcastd0/x0*

type0*
T0
0
d0/x1Placeholder*
dtype0*
shape:
-
d0/x1cBitcastd0/x1*

type0*
T0
0
d0/x2Placeholder*
dtype0*
shape:
0
d0/x3Placeholder*
dtype0*
shape:
0
d0/x4Placeholder*
dtype0*
shape:
0
d0/x5Placeholder*
dtype0*
shape:
­
d0QuantizedConv2Dd0/x0cd0/x1cd0/x2d0/x3d0/x4d0/x5*
paddingSAME*
Tinput0*
Tfilter0*
	dilations
*
out_type0*
strides

)
d0/y0Bitcastd0*

type0*
T0
0
d1/x0Placeholder*
dtype0*
shape:
-
d1/x0cBitcastd1/x0*

type0*
T0
0
d1/x1Placeholder*
dtype0*
shape:
-
d1/x1cBitcastd1/x1*

type0*
T0
0
d1/x2Placeholder*
dtype0*
shape:
0
d1/x3Placeholder*
dtype0*
shape:
0
d1/x4Placeholder*
dtype0*
shape:
0
d1/x5Placeholder*
dtype0*
shape:
­
d1QuantizedConv2Dd1/x0cd1/x1cd1/x2d1/x3d1/x4d1/x5*
paddingSAME*
Tinput0*
Tfilter0*
	dilations
*
out_type0*
strides

)
d1/y0Bitcastd1*

type0*
T0
0
d2/x0Placeholder*
dtype0*
shape:
-
d2/x0cBitcastd2/x0*

type0*
T0
0
d2/x1Placeholder*
dtype0*
shape:
-
d2/x1cBitcastd2/x1*

type0*
T0
0
d2/x2Placeholder*
dtype0*
shape:
0
d2/x3Placeholder*
dtype0*
shape:
0
d2/x4Placeholder*
dtype0*
shape:
0
d2/x5Placeholder*
dtype0*
shape:
®
d2QuantizedConv2Dd2/x0cd2/x1cd2/x2d2/x3d2/x4d2/x5*
paddingVALID*
Tinput0*
Tfilter0*
	dilations
*
out_type0*
strides

)
d2/y0Bitcastd2*

type0*
T0
0
d3/x0Placeholder*
dtype0*
shape:
-
d3/x0cBitcastd3/x0*

type0*
T0
0
d3/x1Placeholder*
dtype0*
shape:
-
d3/x1cBitcastd3/x1*

type0*
T0
0
d3/x2Placeholder*
dtype0*
shape:
0
d3/x3Placeholder*
dtype0*
shape:
0
d3/x4Placeholder*
dtype0*
shape:
0
d3/x5Placeholder*
dtype0*
shape:
®
d3QuantizedConv2Dd3/x0cd3/x1cd3/x2d3/x3d3/x4d3/x5*
paddingVALID*
Tinput0*
Tfilter0*
	dilations
*
strides
*
out_type0
)
d3/y0Bitcastd3*

type0*
T0
0
d4/x0Placeholder*
dtype0*
shape:
-
d4/x0cBitcastd4/x0*

type0*
T0
0
d4/x1Placeholder*
dtype0*
shape:
-
d4/x1cBitcastd4/x1*

type0*
T0
0
d4/x2Placeholder*
dtype0*
shape:
0
d4/x3Placeholder*
dtype0*
shape:
0
d4/x4Placeholder*
dtype0*
shape:
0
d4/x5Placeholder*
dtype0*
shape:
®
d4QuantizedConv2Dd4/x0cd4/x1cd4/x2d4/x3d4/x4d4/x5*
paddingVALID*
Tinput0*
Tfilter0*
	dilations
*
strides
*
out_type0
)
d4/y0Bitcastd4*

type0*
T0
0
d5/x0Placeholder*
dtype0*
shape:
-
d5/x0cBitcastd5/x0*

type0*
T0
0
d5/x1Placeholder*
dtype0*
shape:
-
d5/x1cBitcastd5/x1*

type0*
T0
0
d5/x2Placeholder*
dtype0*
shape:
0
d5/x3Placeholder*
dtype0*
shape:
0
d5/x4Placeholder*
dtype0*
shape:
0
d5/x5Placeholder*
dtype0*
shape:
­
d5QuantizedConv2Dd5/x0cd5/x1cd5/x2d5/x3d5/x4d5/x5*
paddingSAME*
Tinput0*
Tfilter0*
	dilations
*
strides
*
out_type0
)
d5/y0Bitcastd5*

type0*
T0
0
d6/x0Placeholder*
dtype0*
shape:
-
d6/x0cBitcastd6/x0*

type0*
T0
0
d6/x1Placeholder*
dtype0*
shape:
-
d6/x1cBitcastd6/x1*

type0*
T0
0
d6/x2Placeholder*
dtype0*
shape:
0
d6/x3Placeholder*
dtype0*
shape:
0
d6/x4Placeholder*
dtype0*
shape:
0
d6/x5Placeholder*
dtype0*
shape:
®
d6QuantizedConv2Dd6/x0cd6/x1cd6/x2d6/x3d6/x4d6/x5*
paddingVALID*
Tinput0*
Tfilter0*
	dilations
*
out_type0*
strides

)
d6/y0Bitcastd6*

type0*
T0
0
d7/x0Placeholder*
dtype0*
shape:
-
d7/x0cBitcastd7/x0*

type0*
T0
0
d7/x1Placeholder*
dtype0*
shape:
-
d7/x1cBitcastd7/x1*

type0*
T0
0
d7/x2Placeholder*
dtype0*
shape:
0
d7/x3Placeholder*
dtype0*
shape:
0
d7/x4Placeholder*
dtype0*
shape:
0
d7/x5Placeholder*
dtype0*
shape:
®
d7QuantizedConv2Dd7/x0cd7/x1cd7/x2d7/x3d7/x4d7/x5*
paddingVALID*
Tinput0*
Tfilter0*
	dilations
*
strides
*
out_type0
)
d7/y0Bitcastd7*

type0*
T0"ª