
0
d0/x0Placeholder*
shape:*
dtype0

d0HSVToRGBd0/x0*
T0
0
d1/x0Placeholder*
shape:*
dtype0

d1HSVToRGBd1/x0*
T0
0
d2/x0Placeholder*
shape:*
dtype0

d2HSVToRGBd2/x0*
T0
0
d3/x0Placeholder*
shape:*
dtype0

d3HSVToRGBd3/x0*
T0
0
d4/x0Placeholder*
shape:*
dtype0

d4HSVToRGBd4/x0*
T0
0
d5/x0Placeholder*
shape:*
dtype0

d5HSVToRGBd5/x0*
T0
0
d6/x0Placeholder*
shape:*
dtype0

d6HSVToRGBd6/x0*
T0
0
d7/x0Placeholder*
shape:*
dtype0

d7HSVToRGBd7/x0*
T0
0
d8/x0Placeholder*
shape:*
dtype0

d8HSVToRGBd8/x0*
T0
0
d9/x0Placeholder*
shape:*
dtype0

d9HSVToRGBd9/x0*
T0
1
d10/x0Placeholder*
shape:*
dtype0
 
d10HSVToRGBd10/x0*
T0
1
d11/x0Placeholder*
shape:*
dtype0
 
d11HSVToRGBd11/x0*
T0"ª