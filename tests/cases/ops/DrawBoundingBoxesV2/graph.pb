
0
d0/x0Placeholder*
dtype0*
shape:
0
d0/x1Placeholder*
dtype0*
shape:
0
d0/x2Placeholder*
dtype0*
shape:
7
d0DrawBoundingBoxesV2d0/x0d0/x1d0/x2*
T0
0
d1/x0Placeholder*
dtype0*
shape:
0
d1/x1Placeholder*
dtype0*
shape:
0
d1/x2Placeholder*
dtype0*
shape:
7
d1DrawBoundingBoxesV2d1/x0d1/x1d1/x2*
T0
0
d2/x0Placeholder*
dtype0*
shape:
0
d2/x1Placeholder*
dtype0*
shape:
0
d2/x2Placeholder*
dtype0*
shape:
7
d2DrawBoundingBoxesV2d2/x0d2/x1d2/x2*
T0
0
d3/x0Placeholder*
dtype0*
shape:
0
d3/x1Placeholder*
dtype0*
shape:
0
d3/x2Placeholder*
dtype0*
shape:
7
d3DrawBoundingBoxesV2d3/x0d3/x1d3/x2*
T0
0
d4/x0Placeholder*
dtype0*
shape:
0
d4/x1Placeholder*
dtype0*
shape:
0
d4/x2Placeholder*
dtype0*
shape:
7
d4DrawBoundingBoxesV2d4/x0d4/x1d4/x2*
T0
0
d5/x0Placeholder*
dtype0*
shape:
0
d5/x1Placeholder*
dtype0*
shape:
0
d5/x2Placeholder*
dtype0*
shape:
7
d5DrawBoundingBoxesV2d5/x0d5/x1d5/x2*
T0
0
d6/x0Placeholder*
dtype0*
shape:
0
d6/x1Placeholder*
dtype0*
shape:
0
d6/x2Placeholder*
dtype0*
shape:
7
d6DrawBoundingBoxesV2d6/x0d6/x1d6/x2*
T0
0
d7/x0Placeholder*
dtype0*
shape:
0
d7/x1Placeholder*
dtype0*
shape:
0
d7/x2Placeholder*
dtype0*
shape:
7
d7DrawBoundingBoxesV2d7/x0d7/x1d7/x2*
T0"ª