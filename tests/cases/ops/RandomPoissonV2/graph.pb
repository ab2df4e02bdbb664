
0
d0/x0Placeholder*
dtype0*
shape:
0
d0/x1Placeholder*
dtype0	*
shape:
e
d0RandomPoissonV2d0/x0d0/x1*
dtype0*
S0*
R0	*
seed2±¥ğã*
seed ¤¯œ
0
d1/x0Placeholder*
dtype0	*
shape:
0
d1/x1Placeholder*
dtype0*
shape:
e
d1RandomPoissonV2d1/x0d1/x1*
dtype0*
S0	*
R0*
seed2à˜†„š*
seed¶ÈÖšª	
0
d2/x0Placeholder*
dtype0*
shape:
0
d2/x1Placeholder*
dtype0*
shape:
e
d2RandomPoissonV2d2/x0d2/x1*
dtype0*
S0*
seed2áêù¤ƒ*
R0*
seed¸Å—ßØ
0
d3/x0Placeholder*
dtype0*
shape:
0
d3/x1Placeholder*
dtype0	*
shape:
e
d3RandomPoissonV2d3/x0d3/x1*
dtype0*
S0*
seed2İÁÉ‡ê*
R0	*
seed†—ŸÆ•
0
d4/x0Placeholder*
dtype0*
shape:
0
d4/x1Placeholder*
dtype0*
shape:
e
d4RandomPoissonV2d4/x0d4/x1*
dtype0*
S0*
seed2¾¿èÕä*
R0*
seed¨“ñÆ©
0
d5/x0Placeholder*
dtype0	*
shape:
0
d5/x1Placeholder*
dtype0*
shape:
e
d5RandomPoissonV2d5/x0d5/x1*
dtype0*
S0	*
seed2´œ–õ¾*
R0*
seedÎäı–
0
d6/x0Placeholder*
dtype0	*
shape:
0
d6/x1Placeholder*
dtype0*
shape:
e
d6RandomPoissonV2d6/x0d6/x1*
dtype0*
S0	*
R0*
seed2ôºÙ©¨*
seedÄçìƒÔ
0
d7/x0Placeholder*
dtype0*
shape:
0
d7/x1Placeholder*
dtype0*
shape:
e
d7RandomPoissonV2d7/x0d7/x1*
dtype0*
S0*
R0*
seed2˜‚ıÌ*
seed¹ÇĞ‚Š
0
d8/x0Placeholder*
dtype0	*
shape:
0
d8/x1Placeholder*
dtype0*
shape:
e
d8RandomPoissonV2d8/x0d8/x1*
dtype0*
S0	*
R0*
seed2õÀíô™*
seed›ığ‹
0
d9/x0Placeholder*
dtype0*
shape:
0
d9/x1Placeholder*
dtype0	*
shape:
d
d9RandomPoissonV2d9/x0d9/x1*
dtype0*
S0*
seed2ªçûÓi*
R0	*
seed¶§˜ÈÚ
1
d10/x0Placeholder*
dtype0	*
shape:
1
d10/x1Placeholder*
dtype0*
shape:
h
d10RandomPoissonV2d10/x0d10/x1*
dtype0	*
S0	*
R0*
seed2ìßŸÇ¸*
seedÂÔ¦•
1
d11/x0Placeholder*
dtype0*
shape:
1
d11/x1Placeholder*
dtype0*
shape:
h
d11RandomPoissonV2d11/x0d11/x1*
dtype0*
S0*
R0*
seed2Â²¿Í*
seedÒÑ—¯
1
d12/x0Placeholder*
dtype0*
shape:
1
d12/x1Placeholder*
dtype0*
shape:
h
d12RandomPoissonV2d12/x0d12/x1*
dtype0*
S0*
seed2Üƒ‰üˆ*
R0*
seedÎ„Ö§ 
1
d13/x0Placeholder*
dtype0	*
shape:
1
d13/x1Placeholder*
dtype0*
shape:
h
d13RandomPoissonV2d13/x0d13/x1*
dtype0	*
S0	*
seed2¸¿ó­¸*
R0*
seedØºÙ¿æ"ª