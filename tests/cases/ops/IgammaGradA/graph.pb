
0
d0/x0Placeholder*
shape:*
dtype0
0
d0/x1Placeholder*
shape:*
dtype0
(
d0IgammaGradAd0/x0d0/x1*
T0
0
d1/x0Placeholder*
shape:*
dtype0
0
d1/x1Placeholder*
shape:*
dtype0
(
d1IgammaGradAd1/x0d1/x1*
T0
0
d2/x0Placeholder*
shape:*
dtype0
0
d2/x1Placeholder*
shape:*
dtype0
(
d2IgammaGradAd2/x0d2/x1*
T0
0
d3/x0Placeholder*
shape:*
dtype0
0
d3/x1Placeholder*
shape:*
dtype0
(
d3IgammaGradAd3/x0d3/x1*
T0
0
d4/x0Placeholder*
shape:*
dtype0
0
d4/x1Placeholder*
shape:*
dtype0
(
d4IgammaGradAd4/x0d4/x1*
T0
0
d5/x0Placeholder*
shape:*
dtype0
0
d5/x1Placeholder*
shape:*
dtype0
(
d5IgammaGradAd5/x0d5/x1*
T0
0
d6/x0Placeholder*
shape:*
dtype0
0
d6/x1Placeholder*
shape:*
dtype0
(
d6IgammaGradAd6/x0d6/x1*
T0
0
d7/x0Placeholder*
shape:*
dtype0
0
d7/x1Placeholder*
shape:*
dtype0
(
d7IgammaGradAd7/x0d7/x1*
T0
0
d8/x0Placeholder*
shape:*
dtype0
0
d8/x1Placeholder*
shape:*
dtype0
(
d8IgammaGradAd8/x0d8/x1*
T0
0
d9/x0Placeholder*
shape:*
dtype0
0
d9/x1Placeholder*
shape:*
dtype0
(
d9IgammaGradAd9/x0d9/x1*
T0
1
d10/x0Placeholder*
shape:*
dtype0
1
d10/x1Placeholder*
shape:*
dtype0
+
d10IgammaGradAd10/x0d10/x1*
T0
1
d11/x0Placeholder*
shape:*
dtype0
1
d11/x1Placeholder*
shape:*
dtype0
+
d11IgammaGradAd11/x0d11/x1*
T0"ª