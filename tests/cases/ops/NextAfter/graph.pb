
0
d0/x0Placeholder*
dtype0*
shape:
0
d0/x1Placeholder*
dtype0*
shape:
&
d0	NextAfterd0/x0d0/x1*
T0
0
d1/x0Placeholder*
dtype0*
shape:
0
d1/x1Placeholder*
dtype0*
shape:
&
d1	NextAfterd1/x0d1/x1*
T0
0
d2/x0Placeholder*
dtype0*
shape:
0
d2/x1Placeholder*
dtype0*
shape:
&
d2	NextAfterd2/x0d2/x1*
T0
0
d3/x0Placeholder*
dtype0*
shape:
0
d3/x1Placeholder*
dtype0*
shape:
&
d3	NextAfterd3/x0d3/x1*
T0
0
d4/x0Placeholder*
dtype0*
shape:
0
d4/x1Placeholder*
dtype0*
shape:
&
d4	NextAfterd4/x0d4/x1*
T0
0
d5/x0Placeholder*
dtype0*
shape:
0
d5/x1Placeholder*
dtype0*
shape:
&
d5	NextAfterd5/x0d5/x1*
T0
0
d6/x0Placeholder*
dtype0*
shape:
0
d6/x1Placeholder*
dtype0*
shape:
&
d6	NextAfterd6/x0d6/x1*
T0
0
d7/x0Placeholder*
dtype0*
shape:
0
d7/x1Placeholder*
dtype0*
shape:
&
d7	NextAfterd7/x0d7/x1*
T0
0
d8/x0Placeholder*
dtype0*
shape:
0
d8/x1Placeholder*
dtype0*
shape:
&
d8	NextAfterd8/x0d8/x1*
T0
0
d9/x0Placeholder*
dtype0*
shape:
0
d9/x1Placeholder*
dtype0*
shape:
&
d9	NextAfterd9/x0d9/x1*
T0
1
d10/x0Placeholder*
dtype0*
shape:
1
d10/x1Placeholder*
dtype0*
shape:
)
d10	NextAfterd10/x0d10/x1*
T0
1
d11/x0Placeholder*
dtype0*
shape:
1
d11/x1Placeholder*
dtype0*
shape:
)
d11	NextAfterd11/x0d11/x1*
T0
1
d12/x0Placeholder*
dtype0*
shape:
1
d12/x1Placeholder*
dtype0*
shape:
)
d12	NextAfterd12/x0d12/x1*
T0
1
d13/x0Placeholder*
dtype0*
shape:
1
d13/x1Placeholder*
dtype0*
shape:
)
d13	NextAfterd13/x0d13/x1*
T0"ª