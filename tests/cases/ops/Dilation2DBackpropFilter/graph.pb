
0
d0/x0Placeholder*
shape:*
dtype0
0
d0/x1Placeholder*
shape:*
dtype0
0
d0/x2Placeholder*
shape:*
dtype0
x
d0Dilation2DBackpropFilterd0/x0d0/x1d0/x2*
paddingVALID*
rates
*
strides
*
T0
0
d1/x0Placeholder*
shape:*
dtype0
0
d1/x1Placeholder*
shape:*
dtype0
0
d1/x2Placeholder*
shape:*
dtype0
x
d1Dilation2DBackpropFilterd1/x0d1/x1d1/x2*
paddingVALID*
rates
*
strides
*
T0
0
d2/x0Placeholder*
shape:*
dtype0
0
d2/x1Placeholder*
shape:*
dtype0
0
d2/x2Placeholder*
shape:*
dtype0
x
d2Dilation2DBackpropFilterd2/x0d2/x1d2/x2*
paddingVALID*
rates
*
strides
*
T0
0
d3/x0Placeholder*
shape:*
dtype0
0
d3/x1Placeholder*
shape:*
dtype0
0
d3/x2Placeholder*
shape:*
dtype0
x
d3Dilation2DBackpropFilterd3/x0d3/x1d3/x2*
paddingVALID*
rates
*
strides
*
T0
0
d4/x0Placeholder*
shape:*
dtype0
0
d4/x1Placeholder*
shape:*
dtype0
0
d4/x2Placeholder*
shape:*
dtype0
w
d4Dilation2DBackpropFilterd4/x0d4/x1d4/x2*
paddingSAME*
rates
*
strides
*
T0
0
d5/x0Placeholder*
shape:*
dtype0
0
d5/x1Placeholder*
shape:*
dtype0
0
d5/x2Placeholder*
shape:*
dtype0
x
d5Dilation2DBackpropFilterd5/x0d5/x1d5/x2*
paddingVALID*
rates
*
strides
*
T0
0
d6/x0Placeholder*
shape:*
dtype0
0
d6/x1Placeholder*
shape:*
dtype0
0
d6/x2Placeholder*
shape:*
dtype0
x
d6Dilation2DBackpropFilterd6/x0d6/x1d6/x2*
paddingVALID*
rates
*
strides
*
T0
0
d7/x0Placeholder*
shape:*
dtype0
0
d7/x1Placeholder*
shape:*
dtype0
0
d7/x2Placeholder*
shape:*
dtype0
w
d7Dilation2DBackpropFilterd7/x0d7/x1d7/x2*
paddingSAME*
rates
*
strides
*
T0
0
d8/x0Placeholder*
shape:*
dtype0	
0
d8/x1Placeholder*
shape:*
dtype0	
0
d8/x2Placeholder*
shape:*
dtype0	
w
d8Dilation2DBackpropFilterd8/x0d8/x1d8/x2*
paddingSAME*
rates
*
strides
*
T0	
0
d9/x0Placeholder*
shape:*
dtype0
0
d9/x1Placeholder*
shape:*
dtype0
0
d9/x2Placeholder*
shape:*
dtype0
x
d9Dilation2DBackpropFilterd9/x0d9/x1d9/x2*
paddingVALID*
rates
*
strides
*
T0
1
d10/x0Placeholder*
shape:*
dtype0	
1
d10/x1Placeholder*
shape:*
dtype0	
1
d10/x2Placeholder*
shape:*
dtype0	
{
d10Dilation2DBackpropFilterd10/x0d10/x1d10/x2*
paddingSAME*
rates
*
strides
*
T0	
1
d11/x0Placeholder*
shape:*
dtype0
1
d11/x1Placeholder*
shape:*
dtype0
1
d11/x2Placeholder*
shape:*
dtype0
|
d11Dilation2DBackpropFilterd11/x0d11/x1d11/x2*
paddingVALID*
rates
*
strides
*
T0"ª