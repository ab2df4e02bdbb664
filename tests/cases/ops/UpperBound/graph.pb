
0
d0/x0Placeholder*
dtype0*
shape:
0
d0/x1Placeholder*
dtype0*
shape:
7
d0
UpperBoundd0/x0d0/x1*
T0*
out_type0
0
d1/x0Placeholder*
dtype0*
shape:
0
d1/x1Placeholder*
dtype0*
shape:
7
d1
UpperBoundd1/x0d1/x1*
T0*
out_type0	
0
d2/x0Placeholder*
dtype0*
shape:
0
d2/x1Placeholder*
dtype0*
shape:
7
d2
UpperBoundd2/x0d2/x1*
T0*
out_type0
0
d3/x0Placeholder*
dtype0*
shape:
0
d3/x1Placeholder*
dtype0*
shape:
7
d3
UpperBoundd3/x0d3/x1*
T0*
out_type0
0
d4/x0Placeholder*
dtype0*
shape:
0
d4/x1Placeholder*
dtype0*
shape:
7
d4
UpperBoundd4/x0d4/x1*
T0*
out_type0
0
d5/x0Placeholder*
dtype0*
shape:
0
d5/x1Placeholder*
dtype0*
shape:
7
d5
UpperBoundd5/x0d5/x1*
T0*
out_type0
0
d6/x0Placeholder*
dtype0*
shape:
0
d6/x1Placeholder*
dtype0*
shape:
7
d6
UpperBoundd6/x0d6/x1*
T0*
out_type0
0
d7/x0Placeholder*
dtype0*
shape:
0
d7/x1Placeholder*
dtype0*
shape:
7
d7
UpperBoundd7/x0d7/x1*
T0*
out_type0	
0
d8/x0Placeholder*
dtype0*
shape:
0
d8/x1Placeholder*
dtype0*
shape:
7
d8
UpperBoundd8/x0d8/x1*
T0*
out_type0
0
d9/x0Placeholder*
dtype0*
shape:
0
d9/x1Placeholder*
dtype0*
shape:
7
d9
UpperBoundd9/x0d9/x1*
T0*
out_type0	
1
d10/x0Placeholder*
dtype0*
shape:
1
d10/x1Placeholder*
dtype0*
shape:
:
d10
UpperBoundd10/x0d10/x1*
T0*
out_type0
1
d11/x0Placeholder*
dtype0*
shape:
1
d11/x1Placeholder*
dtype0*
shape:
:
d11
UpperBoundd11/x0d11/x1*
T0*
out_type0"ª