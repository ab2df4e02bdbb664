
0
d0/x0Placeholder*
dtype0	*
shape:
%
d0PopulationCountd0/x0*
T0	
0
d1/x0Placeholder*
dtype0*
shape:
%
d1PopulationCountd1/x0*
T0
0
d2/x0Placeholder*
dtype0*
shape:
%
d2PopulationCountd2/x0*
T0
0
d3/x0Placeholder*
dtype0*
shape:
%
d3PopulationCountd3/x0*
T0
0
d4/x0Placeholder*
dtype0*
shape:
%
d4PopulationCountd4/x0*
T0
0
d5/x0Placeholder*
dtype0*
shape:
%
d5PopulationCountd5/x0*
T0
0
d6/x0Placeholder*
dtype0*
shape:
%
d6PopulationCountd6/x0*
T0
0
d7/x0Placeholder*
dtype0*
shape:
%
d7PopulationCountd7/x0*
T0
0
d8/x0Placeholder*
dtype0*
shape:
%
d8PopulationCountd8/x0*
T0
0
d9/x0Placeholder*
dtype0*
shape:
%
d9PopulationCountd9/x0*
T0
1
d10/x0Placeholder*
dtype0*
shape:
'
d10PopulationCountd10/x0*
T0
1
d11/x0Placeholder*
dtype0*
shape:
'
d11PopulationCountd11/x0*
T0"ª