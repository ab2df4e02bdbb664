
0
d0/x0Placeholder*
shape:*
dtype0
0
d0/x1Placeholder*
shape:*
dtype0
0
d0/x2Placeholder*
shape:*
dtype0
0
d0/x3Placeholder*
shape:*
dtype0
e
d0StatelessRandomBinomiald0/x0d0/x1d0/x2d0/x3*
dtype0	*
Tseed0*
S0*
T0
0
d1/x0Placeholder*
shape:*
dtype0
0
d1/x1Placeholder*
shape:*
dtype0
0
d1/x2Placeholder*
shape:*
dtype0
0
d1/x3Placeholder*
shape:*
dtype0
e
d1StatelessRandomBinomiald1/x0d1/x1d1/x2d1/x3*
dtype0*
Tseed0*
S0*
T0
0
d2/x0Placeholder*
shape:*
dtype0	
0
d2/x1Placeholder*
shape:*
dtype0	
0
d2/x2Placeholder*
shape:*
dtype0
0
d2/x3Placeholder*
shape:*
dtype0
e
d2StatelessRandomBinomiald2/x0d2/x1d2/x2d2/x3*
dtype0*
Tseed0	*
S0	*
T0
0
d3/x0Placeholder*
shape:*
dtype0
0
d3/x1Placeholder*
shape:*
dtype0	
0
d3/x2Placeholder*
shape:*
dtype0
0
d3/x3Placeholder*
shape:*
dtype0
e
d3StatelessRandomBinomiald3/x0d3/x1d3/x2d3/x3*
dtype0*
Tseed0	*
S0*
T0
0
d4/x0Placeholder*
shape:*
dtype0
0
d4/x1Placeholder*
shape:*
dtype0
0
d4/x2Placeholder*
shape:*
dtype0
0
d4/x3Placeholder*
shape:*
dtype0
e
d4StatelessRandomBinomiald4/x0d4/x1d4/x2d4/x3*
dtype0*
Tseed0*
S0*
T0
0
d5/x0Placeholder*
shape:*
dtype0
0
d5/x1Placeholder*
shape:*
dtype0	
0
d5/x2Placeholder*
shape:*
dtype0
0
d5/x3Placeholder*
shape:*
dtype0
e
d5StatelessRandomBinomiald5/x0d5/x1d5/x2d5/x3*
dtype0*
Tseed0	*
S0*
T0
0
d6/x0Placeholder*
shape:*
dtype0
0
d6/x1Placeholder*
shape:*
dtype0
0
d6/x2Placeholder*
shape:*
dtype0
0
d6/x3Placeholder*
shape:*
dtype0
e
d6StatelessRandomBinomiald6/x0d6/x1d6/x2d6/x3*
dtype0	*
Tseed0*
S0*
T0
0
d7/x0Placeholder*
shape:*
dtype0
0
d7/x1Placeholder*
shape:*
dtype0	
0
d7/x2Placeholder*
shape:*
dtype0
0
d7/x3Placeholder*
shape:*
dtype0
e
d7StatelessRandomBinomiald7/x0d7/x1d7/x2d7/x3*
dtype0	*
Tseed0	*
S0*
T0
0
d8/x0Placeholder*
shape:*
dtype0	
0
d8/x1Placeholder*
shape:*
dtype0
0
d8/x2Placeholder*
shape:*
dtype0
0
d8/x3Placeholder*
shape:*
dtype0
e
d8StatelessRandomBinomiald8/x0d8/x1d8/x2d8/x3*
dtype0*
Tseed0*
S0	*
T0
0
d9/x0Placeholder*
shape:*
dtype0	
0
d9/x1Placeholder*
shape:*
dtype0
0
d9/x2Placeholder*
shape:*
dtype0
0
d9/x3Placeholder*
shape:*
dtype0
e
d9StatelessRandomBinomiald9/x0d9/x1d9/x2d9/x3*
dtype0*
Tseed0*
S0	*
T0
1
d10/x0Placeholder*
shape:*
dtype0
1
d10/x1Placeholder*
shape:*
dtype0
1
d10/x2Placeholder*
shape:*
dtype0
1
d10/x3Placeholder*
shape:*
dtype0
j
d10StatelessRandomBinomiald10/x0d10/x1d10/x2d10/x3*
dtype0	*
Tseed0*
S0*
T0
1
d11/x0Placeholder*
shape:*
dtype0	
1
d11/x1Placeholder*
shape:*
dtype0
1
d11/x2Placeholder*
shape:*
dtype0
1
d11/x3Placeholder*
shape:*
dtype0
j
d11StatelessRandomBinomiald11/x0d11/x1d11/x2d11/x3*
dtype0*
Tseed0*
S0	*
T0
1
d12/x0Placeholder*
shape:*
dtype0	
1
d12/x1Placeholder*
shape:*
dtype0
1
d12/x2Placeholder*
shape:*
dtype0
1
d12/x3Placeholder*
shape:*
dtype0
j
d12StatelessRandomBinomiald12/x0d12/x1d12/x2d12/x3*
dtype0	*
Tseed0*
S0	*
T0
1
d13/x0Placeholder*
shape:*
dtype0	
1
d13/x1Placeholder*
shape:*
dtype0	
1
d13/x2Placeholder*
shape:*
dtype0
1
d13/x3Placeholder*
shape:*
dtype0
j
d13StatelessRandomBinomiald13/x0d13/x1d13/x2d13/x3*
dtype0*
Tseed0	*
S0	*
T0"ª