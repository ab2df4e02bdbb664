
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
dtype0
0
d0/x3Placeholder*
shape:*
dtype0
0
d0/x4Placeholder*
shape:*
dtype0
F
d0NonMaxSuppressionWithOverlapsd0/x0d0/x1d0/x2d0/x3d0/x4
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
shape:*
dtype0
0
d1/x3Placeholder*
shape:*
dtype0
0
d1/x4Placeholder*
shape:*
dtype0
F
d1NonMaxSuppressionWithOverlapsd1/x0d1/x1d1/x2d1/x3d1/x4
0
d2/x0Placeholder*
shape:*
dtype0
0
d2/x1Placeholder*
shape:*
dtype0
0
d2/x2Placeholder*
shape:*
dtype0
0
d2/x3Placeholder*
shape:*
dtype0
0
d2/x4Placeholder*
shape:*
dtype0
F
d2NonMaxSuppressionWithOverlapsd2/x0d2/x1d2/x2d2/x3d2/x4
0
d3/x0Placeholder*
shape:*
dtype0
0
d3/x1Placeholder*
shape:*
dtype0
0
d3/x2Placeholder*
shape:*
dtype0
0
d3/x3Placeholder*
shape:*
dtype0
0
d3/x4Placeholder*
shape:*
dtype0
F
d3NonMaxSuppressionWithOverlapsd3/x0d3/x1d3/x2d3/x3d3/x4
0
d4/x0Placeholder*
shape:*
dtype0
0
d4/x1Placeholder*
shape:*
dtype0
0
d4/x2Placeholder*
shape:*
dtype0
0
d4/x3Placeholder*
shape:*
dtype0
0
d4/x4Placeholder*
shape:*
dtype0
F
d4NonMaxSuppressionWithOverlapsd4/x0d4/x1d4/x2d4/x3d4/x4
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
dtype0
0
d5/x3Placeholder*
shape:*
dtype0
0
d5/x4Placeholder*
shape:*
dtype0
F
d5NonMaxSuppressionWithOverlapsd5/x0d5/x1d5/x2d5/x3d5/x4
0
d6/x0Placeholder*
shape:*
dtype0
0
d6/x1Placeholder*
shape:*
dtype0
0
d6/x2Placeholder*
shape:*
dtype0
0
d6/x3Placeholder*
shape:*
dtype0
0
d6/x4Placeholder*
shape:*
dtype0
F
d6NonMaxSuppressionWithOverlapsd6/x0d6/x1d6/x2d6/x3d6/x4
0
d7/x0Placeholder*
shape:*
dtype0
0
d7/x1Placeholder*
shape:*
dtype0
0
d7/x2Placeholder*
shape:*
dtype0
0
d7/x3Placeholder*
shape:*
dtype0
0
d7/x4Placeholder*
shape:*
dtype0
F
d7NonMaxSuppressionWithOverlapsd7/x0d7/x1d7/x2d7/x3d7/x4
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
dtype0
0
d8/x3Placeholder*
shape:*
dtype0
0
d8/x4Placeholder*
shape:*
dtype0
F
d8NonMaxSuppressionWithOverlapsd8/x0d8/x1d8/x2d8/x3d8/x4
0
d9/x0Placeholder*
shape:*
dtype0
0
d9/x1Placeholder*
shape:*
dtype0
0
d9/x2Placeholder*
shape:*
dtype0
0
d9/x3Placeholder*
shape:*
dtype0
0
d9/x4Placeholder*
shape:*
dtype0
F
d9NonMaxSuppressionWithOverlapsd9/x0d9/x1d9/x2d9/x3d9/x4
1
d10/x0Placeholder*
shape:*
dtype0
1
d10/x1Placeholder*
shape:*
dtype0
1
d10/x2Placeholder*
shape:*
dtype0
1
d10/x3Placeholder*
shape:*
dtype0
1
d10/x4Placeholder*
shape:*
dtype0
L
d10NonMaxSuppressionWithOverlapsd10/x0d10/x1d10/x2d10/x3d10/x4
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
dtype0
1
d11/x3Placeholder*
shape:*
dtype0
1
d11/x4Placeholder*
shape:*
dtype0
L
d11NonMaxSuppressionWithOverlapsd11/x0d11/x1d11/x2d11/x3d11/x4"ª