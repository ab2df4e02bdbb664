
0
d0/x0Placeholder*
shape:*
dtype0
0
d0/x1Placeholder*
shape:*
dtype0
,
d0RandomGammaGradd0/x0d0/x1*
T0
0
d1/x0Placeholder*
shape:*
dtype0
0
d1/x1Placeholder*
shape:*
dtype0
,
d1RandomGammaGradd1/x0d1/x1*
T0
0
d2/x0Placeholder*
shape:*
dtype0
0
d2/x1Placeholder*
shape:*
dtype0
,
d2RandomGammaGradd2/x0d2/x1*
T0
0
d3/x0Placeholder*
shape:*
dtype0
0
d3/x1Placeholder*
shape:*
dtype0
,
d3RandomGammaGradd3/x0d3/x1*
T0
0
d4/x0Placeholder*
shape:*
dtype0
0
d4/x1Placeholder*
shape:*
dtype0
,
d4RandomGammaGradd4/x0d4/x1*
T0
0
d5/x0Placeholder*
shape:*
dtype0
0
d5/x1Placeholder*
shape:*
dtype0
,
d5RandomGammaGradd5/x0d5/x1*
T0
0
d6/x0Placeholder*
shape:*
dtype0
0
d6/x1Placeholder*
shape:*
dtype0
,
d6RandomGammaGradd6/x0d6/x1*
T0
0
d7/x0Placeholder*
shape:*
dtype0
0
d7/x1Placeholder*
shape:*
dtype0
,
d7RandomGammaGradd7/x0d7/x1*
T0
0
d8/x0Placeholder*
shape:*
dtype0
0
d8/x1Placeholder*
shape:*
dtype0
,
d8RandomGammaGradd8/x0d8/x1*
T0
0
d9/x0Placeholder*
shape:*
dtype0
0
d9/x1Placeholder*
shape:*
dtype0
,
d9RandomGammaGradd9/x0d9/x1*
T0
1
d10/x0Placeholder*
shape:*
dtype0
1
d10/x1Placeholder*
shape:*
dtype0
/
d10RandomGammaGradd10/x0d10/x1*
T0
1
d11/x0Placeholder*
shape:*
dtype0
1
d11/x1Placeholder*
shape:*
dtype0
/
d11RandomGammaGradd11/x0d11/x1*
T0
1
d12/x0Placeholder*
shape:*
dtype0
1
d12/x1Placeholder*
shape:*
dtype0
/
d12RandomGammaGradd12/x0d12/x1*
T0
1
d13/x0Placeholder*
shape:*
dtype0
1
d13/x1Placeholder*
shape:*
dtype0
/
d13RandomGammaGradd13/x0d13/x1*
T0"ª