
0
d0/x0Placeholder*
shape:*
dtype0
0
d0/x1Placeholder*
shape:*
dtype0
-
d0AdjustSaturationd0/x0d0/x1*
T0
0
d1/x0Placeholder*
shape:*
dtype0
0
d1/x1Placeholder*
shape:*
dtype0
-
d1AdjustSaturationd1/x0d1/x1*
T0
0
d2/x0Placeholder*
shape:*
dtype0
0
d2/x1Placeholder*
shape:*
dtype0
-
d2AdjustSaturationd2/x0d2/x1*
T0
0
d3/x0Placeholder*
shape:*
dtype0
0
d3/x1Placeholder*
shape:*
dtype0
-
d3AdjustSaturationd3/x0d3/x1*
T0
0
d4/x0Placeholder*
shape:*
dtype0
0
d4/x1Placeholder*
shape:*
dtype0
-
d4AdjustSaturationd4/x0d4/x1*
T0
0
d5/x0Placeholder*
shape:*
dtype0
0
d5/x1Placeholder*
shape:*
dtype0
-
d5AdjustSaturationd5/x0d5/x1*
T0
0
d6/x0Placeholder*
shape:*
dtype0
0
d6/x1Placeholder*
shape:*
dtype0
-
d6AdjustSaturationd6/x0d6/x1*
T0
0
d7/x0Placeholder*
shape:*
dtype0
0
d7/x1Placeholder*
shape:*
dtype0
-
d7AdjustSaturationd7/x0d7/x1*
T0
0
d8/x0Placeholder*
shape:*
dtype0
0
d8/x1Placeholder*
shape:*
dtype0
-
d8AdjustSaturationd8/x0d8/x1*
T0
0
d9/x0Placeholder*
shape:*
dtype0
0
d9/x1Placeholder*
shape:*
dtype0
-
d9AdjustSaturationd9/x0d9/x1*
T0
1
d10/x0Placeholder*
shape:*
dtype0
1
d10/x1Placeholder*
shape:*
dtype0
0
d10AdjustSaturationd10/x0d10/x1*
T0
1
d11/x0Placeholder*
shape:*
dtype0
1
d11/x1Placeholder*
shape:*
dtype0
0
d11AdjustSaturationd11/x0d11/x1*
T0"ª