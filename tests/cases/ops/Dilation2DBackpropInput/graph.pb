
0
d0/x0Placeholder*
shape:*
dtype0
0
d0/x1Placeholder*
shape:*
dtype0
0
d0/x2Placeholder*
shape:*
dtype0
w
d0Dilation2DBackpropInputd0/x0d0/x1d0/x2*
paddingVALID*
rates
*
strides
*
T0
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
v
d1Dilation2DBackpropInputd1/x0d1/x1d1/x2*
paddingSAME*
rates
*
strides
*
T0
0
d2/x0Placeholder*
shape:*
dtype0
0
d2/x1Placeholder*
shape:*
dtype0
0
d2/x2Placeholder*
shape:*
dtype0
w
d2Dilation2DBackpropInputd2/x0d2/x1d2/x2*
paddingVALID*
rates
*
strides
*
T0
0
d3/x0Placeholder*
shape:*
dtype0
0
d3/x1Placeholder*
shape:*
dtype0
0
d3/x2Placeholder*
shape:*
dtype0
v
d3Dilation2DBackpropInputd3/x0d3/x1d3/x2*
paddingSAME*
rates
*
strides
*
T0
0
d4/x0Placeholder*
shape:*
dtype0	
0
d4/x1Placeholder*
shape:*
dtype0	
0
d4/x2Placeholder*
shape:*
dtype0	
v
d4Dilation2DBackpropInputd4/x0d4/x1d4/x2*
paddingSAME*
rates
*
strides
*
T0	
0
d5/x0Placeholder*
shape:*
dtype0
0
d5/x1Placeholder*
shape:*
dtype0
0
d5/x2Placeholder*
shape:*
dtype0
w
d5Dilation2DBackpropInputd5/x0d5/x1d5/x2*
paddingVALID*
rates
*
strides
*
T0
0
d6/x0Placeholder*
shape:*
dtype0
0
d6/x1Placeholder*
shape:*
dtype0
0
d6/x2Placeholder*
shape:*
dtype0
w
d6Dilation2DBackpropInputd6/x0d6/x1d6/x2*
paddingVALID*
rates
*
strides
*
T0
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
d7Dilation2DBackpropInputd7/x0d7/x1d7/x2*
paddingVALID*
rates
*
strides
*
T0
0
d8/x0Placeholder*
shape:*
dtype0
0
d8/x1Placeholder*
shape:*
dtype0
0
d8/x2Placeholder*
shape:*
dtype0
w
d8Dilation2DBackpropInputd8/x0d8/x1d8/x2*
paddingVALID*
rates
*
strides
*
T0
0
d9/x0Placeholder*
shape:*
dtype0
0
d9/x1Placeholder*
shape:*
dtype0
0
d9/x2Placeholder*
shape:*
dtype0
w
d9Dilation2DBackpropInputd9/x0d9/x1d9/x2*
paddingVALID*
rates
*
strides
*
T0
1
d10/x0Placeholder*
shape:*
dtype0
1
d10/x1Placeholder*
shape:*
dtype0
1
d10/x2Placeholder*
shape:*
dtype0
{
d10Dilation2DBackpropInputd10/x0d10/x1d10/x2*
paddingVALID*
rates
*
strides
*
T0
1
d11/x0Placeholder*
shape:*
dtype0
1
d11/x1Placeholder*
shape:*
dtype0
1
d11/x2Placeholder*
shape:*
dtype0
z
d11Dilation2DBackpropInputd11/x0d11/x1d11/x2*
paddingSAME*
rates
*
strides
*
T0"ª