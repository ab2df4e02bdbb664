# A tensor with more readers than a node has inputs for: the sum of what comes back has to be made in parts.
awk -v n=70000 'BEGIN {
	float = "attr {key: \"T\" value {type: DT_FLOAT}}"
	printf "node {name: \"x\" op: \"Placeholder\" attr {key: \"dtype\" value {type: DT_FLOAT}} attr {key: \"shape\" value {shape {}}}}\n"
	for (i = 0; i < n; i++)
		printf "node {name: \"e%d\" op: \"Exp\" input: \"x\" %s}\n", i, float
	for (k = 0; k < 7; k++) {
		printf "node {name: \"s%d\" op: \"AddN\" attr {key: \"N\" value {i: %d}} %s", k, n / 7, float
		for (i = k * n / 7; i < (k + 1) * n / 7; i++)
			printf " input: \"e%d\"", i
		print "}"
	}
	printf "node {name: \"s\" op: \"AddN\" attr {key: \"N\" value {i: 7}} %s", float
	for (k = 0; k < 7; k++)
		printf " input: \"s%d\"", k
	print "}"
}' >many.pbtxt
"$DFG" grad many.pbtxt --of s --wrt x -o slope.pb
[ "$("$DFG" run slope.pb --feed x=0 --fetch grad/x)" = "grad/x: f32[] 70000" ]
