
6
d0/x0Placeholder*
shape
:*
dtype0
/
d0Lud0/x0*
output_idx_type0*
T0
>
d1/x0Placeholder*
shape:*
dtype0
/
d1Lud1/x0*
output_idx_type0	*
T0
>
d2/x0Placeholder*
shape:*
dtype0
/
d2Lud2/x0*
T0*
output_idx_type0	
6
d3/x0Placeholder*
shape
:*
dtype0
/
d3Lud3/x0*
T0*
output_idx_type0	
6
d4/x0Placeholder*
shape
:*
dtype0
/
d4Lud4/x0*
output_idx_type0	*
T0
>
d5/x0Placeholder*
shape:*
dtype0
/
d5Lud5/x0*
T0*
output_idx_type0	
>
d6/x0Placeholder*
shape:*
dtype0
/
d6Lud6/x0*
output_idx_type0	*
T0
>
d7/x0Placeholder*
shape:*
dtype0
/
d7Lud7/x0*
output_idx_type0	*
T0
:
d8/x0Placeholder*
shape:*
dtype0
/
d8Lud8/x0*
output_idx_type0	*
T0
6
d9/x0Placeholder*
shape
:*
dtype0
/
d9Lud9/x0*
output_idx_type0*
T0
?
d10/x0Placeholder*
shape:*
dtype0
1
d10Lud10/x0*
T0*
output_idx_type0	
7
d11/x0Placeholder*
shape
:*
dtype0
1
d11Lud11/x0*
T0*
output_idx_type0"ª