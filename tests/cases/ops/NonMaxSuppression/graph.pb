
0
d0/x0Placeholder*
shape:*
dtype0
0
d0/x1Placeholder*
shape:*
dtype0
0
d0/x2Placeholder*
shape:*
dtype0
D
d0NonMaxSuppressiond0/x0d0/x1d0/x2*
iou_threshold%âýÉ>
0
d1/x0Placeholder*
shape:*
dtype0
0
d1/x1Placeholder*
shape:*
dtype0
0
d1/x2Placeholder*
shape:*
dtype0
D
d1NonMaxSuppressiond1/x0d1/x1d1/x2*
iou_threshold%¶–>
0
d2/x0Placeholder*
shape:*
dtype0
0
d2/x1Placeholder*
shape:*
dtype0
0
d2/x2Placeholder*
shape:*
dtype0
D
d2NonMaxSuppressiond2/x0d2/x1d2/x2*
iou_threshold%tú9
0
d3/x0Placeholder*
shape:*
dtype0
0
d3/x1Placeholder*
shape:*
dtype0
0
d3/x2Placeholder*
shape:*
dtype0
D
d3NonMaxSuppressiond3/x0d3/x1d3/x2*
iou_threshold%LÉ=
0
d4/x0Placeholder*
shape:*
dtype0
0
d4/x1Placeholder*
shape:*
dtype0
0
d4/x2Placeholder*
shape:*
dtype0
D
d4NonMaxSuppressiond4/x0d4/x1d4/x2*
iou_threshold%=ôb>
0
d5/x0Placeholder*
shape:*
dtype0
0
d5/x1Placeholder*
shape:*
dtype0
0
d5/x2Placeholder*
shape:*
dtype0
D
d5NonMaxSuppressiond5/x0d5/x1d5/x2*
iou_threshold%”?
0
d6/x0Placeholder*
shape:*
dtype0
0
d6/x1Placeholder*
shape:*
dtype0
0
d6/x2Placeholder*
shape:*
dtype0
D
d6NonMaxSuppressiond6/x0d6/x1d6/x2*
iou_threshold%	˜,?
0
d7/x0Placeholder*
shape:*
dtype0
0
d7/x1Placeholder*
shape:*
dtype0
0
d7/x2Placeholder*
shape:*
dtype0
D
d7NonMaxSuppressiond7/x0d7/x1d7/x2*
iou_threshold%
»?
0
d8/x0Placeholder*
shape:*
dtype0
0
d8/x1Placeholder*
shape:*
dtype0
0
d8/x2Placeholder*
shape:*
dtype0
D
d8NonMaxSuppressiond8/x0d8/x1d8/x2*
iou_threshold%þt4?
0
d9/x0Placeholder*
shape:*
dtype0
0
d9/x1Placeholder*
shape:*
dtype0
0
d9/x2Placeholder*
shape:*
dtype0
D
d9NonMaxSuppressiond9/x0d9/x1d9/x2*
iou_threshold%}$?
1
d10/x0Placeholder*
shape:*
dtype0
1
d10/x1Placeholder*
shape:*
dtype0
1
d10/x2Placeholder*
shape:*
dtype0
H
d10NonMaxSuppressiond10/x0d10/x1d10/x2*
iou_threshold%.Þ>
1
d11/x0Placeholder*
shape:*
dtype0
1
d11/x1Placeholder*
shape:*
dtype0
1
d11/x2Placeholder*
shape:*
dtype0
H
d11NonMaxSuppressiond11/x0d11/x1d11/x2*
iou_threshold%Ç:i="ª