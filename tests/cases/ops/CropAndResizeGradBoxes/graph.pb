
0
d0/x0Placeholder*
shape:*
dtype0
0
d0/x1Placeholder*
dtype0*
shape:
0
d0/x2Placeholder*
shape:*
dtype0
0
d0/x3Placeholder*
shape:*
dtype0
W
d0CropAndResizeGradBoxesd0/x0d0/x1d0/x2d0/x3*
T0*
method
bilinear
0
d1/x0Placeholder*
shape:*
dtype0
0
d1/x1Placeholder*
shape:*
dtype0
0
d1/x2Placeholder*
dtype0*
shape:
0
d1/x3Placeholder*
shape:*
dtype0
W
d1CropAndResizeGradBoxesd1/x0d1/x1d1/x2d1/x3*
T0*
method
bilinear
0
d2/x0Placeholder*
dtype0*
shape:
0
d2/x1Placeholder*
shape:*
dtype0
0
d2/x2Placeholder*
dtype0*
shape:
0
d2/x3Placeholder*
shape:*
dtype0
W
d2CropAndResizeGradBoxesd2/x0d2/x1d2/x2d2/x3*
T0*
method
bilinear
0
d3/x0Placeholder*
dtype0*
shape:
0
d3/x1Placeholder*
shape:*
dtype0
0
d3/x2Placeholder*
dtype0*
shape:
0
d3/x3Placeholder*
dtype0*
shape:
W
d3CropAndResizeGradBoxesd3/x0d3/x1d3/x2d3/x3*
T0*
method
bilinear
0
d4/x0Placeholder*
shape:*
dtype0
0
d4/x1Placeholder*
dtype0*
shape:
0
d4/x2Placeholder*
dtype0*
shape:
0
d4/x3Placeholder*
shape:*
dtype0
W
d4CropAndResizeGradBoxesd4/x0d4/x1d4/x2d4/x3*
T0*
method
bilinear
0
d5/x0Placeholder*
shape:*
dtype0
0
d5/x1Placeholder*
dtype0*
shape:
0
d5/x2Placeholder*
shape:*
dtype0
0
d5/x3Placeholder*
dtype0*
shape:
W
d5CropAndResizeGradBoxesd5/x0d5/x1d5/x2d5/x3*
T0*
method
bilinear
0
d6/x0Placeholder*
dtype0*
shape:
0
d6/x1Placeholder*
shape:*
dtype0
0
d6/x2Placeholder*
shape:*
dtype0
0
d6/x3Placeholder*
shape:*
dtype0
W
d6CropAndResizeGradBoxesd6/x0d6/x1d6/x2d6/x3*
T0*
method
bilinear
0
d7/x0Placeholder*
dtype0*
shape:
0
d7/x1Placeholder*
dtype0	*
shape:
0
d7/x2Placeholder*
dtype0*
shape:
0
d7/x3Placeholder*
shape:*
dtype0
W
d7CropAndResizeGradBoxesd7/x0d7/x1d7/x2d7/x3*
T0	*
method
bilinear
0
d8/x0Placeholder*
dtype0*
shape:
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
dtype0*
shape:
W
d8CropAndResizeGradBoxesd8/x0d8/x1d8/x2d8/x3*
T0*
method
bilinear
0
d9/x0Placeholder*
shape:*
dtype0
0
d9/x1Placeholder*
dtype0*
shape:
0
d9/x2Placeholder*
shape:*
dtype0
0
d9/x3Placeholder*
dtype0*
shape:
W
d9CropAndResizeGradBoxesd9/x0d9/x1d9/x2d9/x3*
T0*
method
bilinear
1
d10/x0Placeholder*
dtype0*
shape:
1
d10/x1Placeholder*
shape:*
dtype0
1
d10/x2Placeholder*
dtype0*
shape:
1
d10/x3Placeholder*
shape:*
dtype0
\
d10CropAndResizeGradBoxesd10/x0d10/x1d10/x2d10/x3*
T0*
method
bilinear
1
d11/x0Placeholder*
shape:*
dtype0
1
d11/x1Placeholder*
shape:*
dtype0
1
d11/x2Placeholder*
shape:*
dtype0
1
d11/x3Placeholder*
dtype0*
shape:
\
d11CropAndResizeGradBoxesd11/x0d11/x1d11/x2d11/x3*
T0*
method
bilinear"ª