
:
d0/x0Placeholder*
dtype0*
shape:
%
d0MatrixLogarithmd0/x0*
T0
>
d1/x0Placeholder*
dtype0*
shape:
%
d1MatrixLogarithmd1/x0*
T0
>
d2/x0Placeholder*
dtype0*
shape:
%
d2MatrixLogarithmd2/x0*
T0
6
d3/x0Placeholder*
dtype0*
shape
:
%
d3MatrixLogarithmd3/x0*
T0
>
d4/x0Placeholder*
dtype0*
shape:
%
d4MatrixLogarithmd4/x0*
T0
6
d5/x0Placeholder*
dtype0*
shape
:
%
d5MatrixLogarithmd5/x0*
T0
:
d6/x0Placeholder*
dtype0*
shape:
%
d6MatrixLogarithmd6/x0*
T0
>
d7/x0Placeholder*
dtype0*
shape:
%
d7MatrixLogarithmd7/x0*
T0
:
d8/x0Placeholder*
dtype0*
shape:
%
d8MatrixLogarithmd8/x0*
T0
>
d9/x0Placeholder*
dtype0*
shape:
%
d9MatrixLogarithmd9/x0*
T0
;
d10/x0Placeholder*
dtype0*
shape:
'
d10MatrixLogarithmd10/x0*
T0
?
d11/x0Placeholder*
dtype0*
shape:
'
d11MatrixLogarithmd11/x0*
T0"ª