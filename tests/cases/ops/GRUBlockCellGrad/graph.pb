
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
0
d0/x6Placeholder*
dtype0*
shape:
0
d0/x7Placeholder*
dtype0*
shape:
0
d0/x8Placeholder*
dtype0*
shape:
0
d0/x9Placeholder*
dtype0*
shape:
e
d0GRUBlockCellGradd0/x0d0/x1d0/x2d0/x3d0/x4d0/x5d0/x6d0/x7d0/x8d0/x9*
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
0
d1/x6Placeholder*
dtype0*
shape:
0
d1/x7Placeholder*
dtype0*
shape:
0
d1/x8Placeholder*
dtype0*
shape:
0
d1/x9Placeholder*
dtype0*
shape:
e
d1GRUBlockCellGradd1/x0d1/x1d1/x2d1/x3d1/x4d1/x5d1/x6d1/x7d1/x8d1/x9*
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
0
d2/x6Placeholder*
dtype0*
shape:
0
d2/x7Placeholder*
dtype0*
shape:
0
d2/x8Placeholder*
dtype0*
shape:
0
d2/x9Placeholder*
dtype0*
shape:
e
d2GRUBlockCellGradd2/x0d2/x1d2/x2d2/x3d2/x4d2/x5d2/x6d2/x7d2/x8d2/x9*
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
0
d3/x6Placeholder*
dtype0*
shape:
0
d3/x7Placeholder*
dtype0*
shape:
0
d3/x8Placeholder*
dtype0*
shape:
0
d3/x9Placeholder*
dtype0*
shape:
e
d3GRUBlockCellGradd3/x0d3/x1d3/x2d3/x3d3/x4d3/x5d3/x6d3/x7d3/x8d3/x9*
T0"ª