
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
E
d0GRUBlockCelld0/x0d0/x1d0/x2d0/x3d0/x4d0/x5*
T0
0
d1/x0Placeholder*
dtype0*
shape:
0
d1/x1Placeholder*
dtype0*
shape:
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
E
d1GRUBlockCelld1/x0d1/x1d1/x2d1/x3d1/x4d1/x5*
T0
0
d2/x0Placeholder*
dtype0*
shape:
0
d2/x1Placeholder*
dtype0*
shape:
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
E
d2GRUBlockCelld2/x0d2/x1d2/x2d2/x3d2/x4d2/x5*
T0
0
d3/x0Placeholder*
dtype0*
shape:
0
d3/x1Placeholder*
dtype0*
shape:
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
E
d3GRUBlockCelld3/x0d3/x1d3/x2d3/x3d3/x4d3/x5*
T0"ª