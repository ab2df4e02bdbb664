
0
d0/x0Placeholder*
shape:*
dtype0
0
d0/x1Placeholder*
shape:*
dtype0
-
d0AdjustContrastv2d0/x0d0/x1*
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
d1AdjustContrastv2d1/x0d1/x1*
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
d2AdjustContrastv2d2/x0d2/x1*
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
d3AdjustContrastv2d3/x0d3/x1*
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
d4AdjustContrastv2d4/x0d4/x1*
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
d5AdjustContrastv2d5/x0d5/x1*
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
d6AdjustContrastv2d6/x0d6/x1*
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
d7AdjustContrastv2d7/x0d7/x1*
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
d8AdjustContrastv2d8/x0d8/x1*
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
d9AdjustContrastv2d9/x0d9/x1*
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
d10AdjustContrastv2d10/x0d10/x1*
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
d11AdjustContrastv2d11/x0d11/x1*
T0"ª