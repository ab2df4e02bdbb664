
0
d0/x0Placeholder*
dtype0*
shape:
0
d0/x1Placeholder*
dtype0*
shape:
T
d0RandomGammad0/x0d0/x1*
seed2¬éšï—*
T0*
seed›•§æ­*
S0
0
d1/x0Placeholder*
dtype0	*
shape:
0
d1/x1Placeholder*
dtype0*
shape:
T
d1RandomGammad1/x0d1/x1*
seed2úÔ Ó´*
T0*
seed¥ô¦¹*
S0	
0
d2/x0Placeholder*
dtype0*
shape:
0
d2/x1Placeholder*
dtype0*
shape:
T
d2RandomGammad2/x0d2/x1*
seed2…¼úË¯*
T0*
seedÑ÷…ş*
S0
0
d3/x0Placeholder*
dtype0*
shape:
0
d3/x1Placeholder*
dtype0*
shape:
T
d3RandomGammad3/x0d3/x1*
seed2†“¹–Ã*
S0*
seedè™€§*
T0
0
d4/x0Placeholder*
dtype0*
shape:
0
d4/x1Placeholder*
dtype0*
shape:
T
d4RandomGammad4/x0d4/x1*
seed2ÆòòÃ*
T0*
seed®ñÓïú*
S0
0
d5/x0Placeholder*
dtype0*
shape:
0
d5/x1Placeholder*
dtype0*
shape:
T
d5RandomGammad5/x0d5/x1*
seed2º¸çŠ*
T0*
seedÿ±ìì*
S0
0
d6/x0Placeholder*
dtype0	*
shape:
0
d6/x1Placeholder*
dtype0*
shape:
T
d6RandomGammad6/x0d6/x1*
seed2Ã¦—òª*
S0	*
seedÜİÄ¶Õ*
T0
0
d7/x0Placeholder*
dtype0*
shape:
0
d7/x1Placeholder*
dtype0*
shape:
T
d7RandomGammad7/x0d7/x1*
seed2•³Š¡Ê*
T0*
seed½—ê‹¹*
S0
0
d8/x0Placeholder*
dtype0*
shape:
0
d8/x1Placeholder*
dtype0*
shape:
T
d8RandomGammad8/x0d8/x1*
seed2¥ÔæÒŸ*
T0*
seed­³…‹*
S0
0
d9/x0Placeholder*
dtype0*
shape:
0
d9/x1Placeholder*
dtype0*
shape:
T
d9RandomGammad9/x0d9/x1*
seed2ë¬ü´ë*
S0*
seed–¿†ÓÊ*
T0
1
d10/x0Placeholder*
dtype0	*
shape:
1
d10/x1Placeholder*
dtype0*
shape:
W
d10RandomGammad10/x0d10/x1*
seed2’è¹Œ²
*
S0	*
seed‚­í²»*
T0
1
d11/x0Placeholder*
dtype0*
shape:
1
d11/x1Placeholder*
dtype0*
shape:
V
d11RandomGammad11/x0d11/x1*
seed2¾ÎÉˆu*
S0*
seedâ¯Áîò*
T0
1
d12/x0Placeholder*
dtype0	*
shape:
1
d12/x1Placeholder*
dtype0*
shape:
W
d12RandomGammad12/x0d12/x1*
seed2³ò ¶¬*
S0	*
seedÎ¸°Ö*
T0
1
d13/x0Placeholder*
dtype0	*
shape:
1
d13/x1Placeholder*
dtype0*
shape:
W
d13RandomGammad13/x0d13/x1*
seed2œÆ¸±*
S0	*
seedÑí¦€Ü*
T0"ª