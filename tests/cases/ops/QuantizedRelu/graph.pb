
0
d0/x0Placeholder*
dtype0*
shape:
-
d0/x0cBitcastd0/x0*

type0*
T0
0
d0/x1Placeholder*
dtype0*
shape:
0
d0/x2Placeholder*
dtype0*
shape:
G
d0QuantizedRelud0/x0cd0/x1d0/x2*
Tinput0*
out_type0
)
d0/y0Bitcastd0*

type0*
T0
0
d1/x0Placeholder*
dtype0*
shape:
-
d1/x0cBitcastd1/x0*

type0*
T0
0
d1/x1Placeholder*
dtype0*
shape:
0
d1/x2Placeholder*
dtype0*
shape:
G
d1QuantizedRelud1/x0cd1/x1d1/x2*
Tinput0*
out_type0
)
d1/y0Bitcastd1*

type0*
T0
0
d2/x0Placeholder*
dtype0*
shape:
-
d2/x0cBitcastd2/x0*

type0*
T0
0
d2/x1Placeholder*
dtype0*
shape:
0
d2/x2Placeholder*
dtype0*
shape:
G
d2QuantizedRelud2/x0cd2/x1d2/x2*
Tinput0*
out_type0
)
d2/y0Bitcastd2*

type0*
T0
0
d3/x0Placeholder*
dtype0*
shape:
-
d3/x0cBitcastd3/x0*

type0*
T0
0
d3/x1Placeholder*
dtype0*
shape:
0
d3/x2Placeholder*
dtype0*
shape:
G
d3QuantizedRelud3/x0cd3/x1d3/x2*
Tinput0*
out_type0
)
d3/y0Bitcastd3*

type0*
T0
0
d4/x0Placeholder*
dtype0*
shape:
-
d4/x0cBitcastd4/x0*

type0*
T0
0
d4/x1Placeholder*
dtype0*
shape:
0
d4/x2Placeholder*
dtype0*
shape:
G
d4QuantizedRelud4/x0cd4/x1d4/x2*
Tinput0*
out_type0
)
d4/y0Bitcastd4*

type0*
T0
0
d5/x0Placeholder*
dtype0*
shape:
-
d5/x0cBitcastd5/x0*

type0*
T0
0
d5/x1Placeholder*
dtype0*
shape:
0
d5/x2Placeholder*
dtype0*
shape:
G
d5QuantizedRelud5/x0cd5/x1d5/x2*
Tinput0*
out_type0
)
d5/y0Bitcastd5*

type0*
T0
0
d6/x0Placeholder*
dtype0*
shape:
-
d6/x0cBitcastd6/x0*

type0*
T0
0
d6/x1Placeholder*
dtype0*
shape:
0
d6/x2Placeholder*
dtype0*
shape:
G
d6QuantizedRelud6/x0cd6/x1d6/x2*
Tinput0*
out_type0
)
d6/y0Bitcastd6*

type0*
T0
0
d7/x0Placeholder*
dtype0*
shape:
-
d7/x0cBitcastd7/x0*

type0*
T0
0
d7/x1Placeholder*
dtype0*
shape:
0
d7/x2Placeholder*
dtype0*
shape:
G
d7QuantizedRelud7/x0cd7/x1d7/x2*
Tinput0*
out_type0
)
d7/y0Bitcastd7*

type0*
T0"ª