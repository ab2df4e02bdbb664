
0
d0/x0Placeholder*
dtype0*
shape:
0
d0/x1Placeholder*
dtype0*
shape:
.
d0DrawBoundingBoxesd0/x0d0/x1*
T0
0
d1/x0Placeholder*
dtype0*
shape:
0
d1/x1Placeholder*
dtype0*
shape:
.
d1DrawBoundingBoxesd1/x0d1/x1*
T0
0
d2/x0Placeholder*
dtype0*
shape:
0
d2/x1Placeholder*
dtype0*
shape:
.
d2DrawBoundingBoxesd2/x0d2/x1*
T0
0
d3/x0Placeholder*
dtype0*
shape:
0
d3/x1Placeholder*
dtype0*
shape:
.
d3DrawBoundingBoxesd3/x0d3/x1*
T0
0
d4/x0Placeholder*
dtype0*
shape:
0
d4/x1Placeholder*
dtype0*
shape:
.
d4DrawBoundingBoxesd4/x0d4/x1*
T0
0
d5/x0Placeholder*
dtype0*
shape:
0
d5/x1Placeholder*
dtype0*
shape:
.
d5DrawBoundingBoxesd5/x0d5/x1*
T0
0
d6/x0Placeholder*
dtype0*
shape:
0
d6/x1Placeholder*
dtype0*
shape:
.
d6DrawBoundingBoxesd6/x0d6/x1*
T0
0
d7/x0Placeholder*
dtype0*
shape:
0
d7/x1Placeholder*
dtype0*
shape:
.
d7DrawBoundingBoxesd7/x0d7/x1*
T0"ª