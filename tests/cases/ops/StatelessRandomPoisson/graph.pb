
0
d0/x0Placeholder*
dtype0	*
shape:
0
d0/x1Placeholder*
dtype0*
shape:
0
d0/x2Placeholder*
dtype0*
shape:
a
d0StatelessRandomPoissond0/x0d0/x1d0/x2*
Tseed0*
dtype0*
Rtype0*
T0	
0
d1/x0Placeholder*
dtype0*
shape:
0
d1/x1Placeholder*
dtype0*
shape:
0
d1/x2Placeholder*
dtype0*
shape:
a
d1StatelessRandomPoissond1/x0d1/x1d1/x2*
Tseed0*
dtype0*
Rtype0*
T0
0
d2/x0Placeholder*
dtype0*
shape:
0
d2/x1Placeholder*
dtype0*
shape:
0
d2/x2Placeholder*
dtype0	*
shape:
a
d2StatelessRandomPoissond2/x0d2/x1d2/x2*
Tseed0*
dtype0*
Rtype0	*
T0
0
d3/x0Placeholder*
dtype0	*
shape:
0
d3/x1Placeholder*
dtype0	*
shape:
0
d3/x2Placeholder*
dtype0*
shape:
a
d3StatelessRandomPoissond3/x0d3/x1d3/x2*
Tseed0	*
dtype0	*
Rtype0*
T0	
0
d4/x0Placeholder*
dtype0	*
shape:
0
d4/x1Placeholder*
dtype0	*
shape:
0
d4/x2Placeholder*
dtype0*
shape:
a
d4StatelessRandomPoissond4/x0d4/x1d4/x2*
Tseed0	*
dtype0*
Rtype0*
T0	
0
d5/x0Placeholder*
dtype0	*
shape:
0
d5/x1Placeholder*
dtype0	*
shape:
0
d5/x2Placeholder*
dtype0*
shape:
a
d5StatelessRandomPoissond5/x0d5/x1d5/x2*
Tseed0	*
dtype0*
Rtype0*
T0	
0
d6/x0Placeholder*
dtype0	*
shape:
0
d6/x1Placeholder*
dtype0*
shape:
0
d6/x2Placeholder*
dtype0*
shape:
a
d6StatelessRandomPoissond6/x0d6/x1d6/x2*
Tseed0*
dtype0*
Rtype0*
T0	
0
d7/x0Placeholder*
dtype0	*
shape:
0
d7/x1Placeholder*
dtype0	*
shape:
0
d7/x2Placeholder*
dtype0*
shape:
a
d7StatelessRandomPoissond7/x0d7/x1d7/x2*
Tseed0	*
dtype0*
Rtype0*
T0	
0
d8/x0Placeholder*
dtype0	*
shape:
0
d8/x1Placeholder*
dtype0	*
shape:
0
d8/x2Placeholder*
dtype0*
shape:
a
d8StatelessRandomPoissond8/x0d8/x1d8/x2*
Tseed0	*
dtype0	*
Rtype0*
T0	
0
d9/x0Placeholder*
dtype0*
shape:
0
d9/x1Placeholder*
dtype0	*
shape:
0
d9/x2Placeholder*
dtype0*
shape:
a
d9StatelessRandomPoissond9/x0d9/x1d9/x2*
Tseed0	*
dtype0*
Rtype0*
T0
1
d10/x0Placeholder*
dtype0*
shape:
1
d10/x1Placeholder*
dtype0*
shape:
1
d10/x2Placeholder*
dtype0*
shape:
e
d10StatelessRandomPoissond10/x0d10/x1d10/x2*
Tseed0*
dtype0*
Rtype0*
T0
1
d11/x0Placeholder*
dtype0	*
shape:
1
d11/x1Placeholder*
dtype0*
shape:
1
d11/x2Placeholder*
dtype0*
shape:
e
d11StatelessRandomPoissond11/x0d11/x1d11/x2*
Tseed0*
dtype0*
Rtype0*
T0	
1
d12/x0Placeholder*
dtype0*
shape:
1
d12/x1Placeholder*
dtype0*
shape:
1
d12/x2Placeholder*
dtype0*
shape:
e
d12StatelessRandomPoissond12/x0d12/x1d12/x2*
Tseed0*
dtype0*
Rtype0*
T0
1
d13/x0Placeholder*
dtype0*
shape:
1
d13/x1Placeholder*
dtype0	*
shape:
1
d13/x2Placeholder*
dtype0*
shape:
e
d13StatelessRandomPoissond13/x0d13/x1d13/x2*
Tseed0	*
dtype0*
Rtype0*
T0"ª