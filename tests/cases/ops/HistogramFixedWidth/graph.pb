
0
d0/x0Placeholder*
dtype0*
shape:
0
d0/x1Placeholder*
dtype0*
shape:
0
d0/x2Placeholder*
dtype0*
shape:
D
d0HistogramFixedWidthd0/x0d0/x1d0/x2*
T0*
dtype0	
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
D
d1HistogramFixedWidthd1/x0d1/x1d1/x2*
T0*
dtype0
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
dtype0*
shape:
D
d2HistogramFixedWidthd2/x0d2/x1d2/x2*
T0*
dtype0	
0
d3/x0Placeholder*
dtype0*
shape:
0
d3/x1Placeholder*
dtype0*
shape:
0
d3/x2Placeholder*
dtype0*
shape:
D
d3HistogramFixedWidthd3/x0d3/x1d3/x2*
T0*
dtype0
0
d4/x0Placeholder*
dtype0*
shape:
0
d4/x1Placeholder*
dtype0*
shape:
0
d4/x2Placeholder*
dtype0*
shape:
D
d4HistogramFixedWidthd4/x0d4/x1d4/x2*
T0*
dtype0	
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
dtype0*
shape:
D
d5HistogramFixedWidthd5/x0d5/x1d5/x2*
T0	*
dtype0
0
d6/x0Placeholder*
dtype0	*
shape:
0
d6/x1Placeholder*
dtype0	*
shape:
0
d6/x2Placeholder*
dtype0*
shape:
D
d6HistogramFixedWidthd6/x0d6/x1d6/x2*
T0	*
dtype0	
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
dtype0*
shape:
D
d7HistogramFixedWidthd7/x0d7/x1d7/x2*
T0	*
dtype0
0
d8/x0Placeholder*
dtype0*
shape:
0
d8/x1Placeholder*
dtype0*
shape:
0
d8/x2Placeholder*
dtype0*
shape:
D
d8HistogramFixedWidthd8/x0d8/x1d8/x2*
T0*
dtype0
0
d9/x0Placeholder*
dtype0*
shape:
0
d9/x1Placeholder*
dtype0*
shape:
0
d9/x2Placeholder*
dtype0*
shape:
D
d9HistogramFixedWidthd9/x0d9/x1d9/x2*
T0*
dtype0
1
d10/x0Placeholder*
dtype0	*
shape:
1
d10/x1Placeholder*
dtype0	*
shape:
1
d10/x2Placeholder*
dtype0*
shape:
H
d10HistogramFixedWidthd10/x0d10/x1d10/x2*
T0	*
dtype0	
1
d11/x0Placeholder*
dtype0*
shape:
1
d11/x1Placeholder*
dtype0*
shape:
1
d11/x2Placeholder*
dtype0*
shape:
H
d11HistogramFixedWidthd11/x0d11/x1d11/x2*
T0*
dtype0	"ª