# dfg reduce: the smallest graph for which a command fails as it does for the whole one.
. "$ROOT/tests/cli/kit"
script() { # NAME: a command from stdin
	cat >"$1"
	chmod +x "$1"
}
nodes() { # GRAPH
	"$DFG" show --text "$1" | grep -c .
}

# 2000 nodes, of which one is a Sin that the result depends on.
awk 'BEGIN {
	n = 2000
	print "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } } attr { key: \"shape\" value { shape { dim { size: 4 } } } } }"
	for (i = 1; i < n; i++) {
		a = i == 1 ? "x" : "n" (i - 1); b = i < 8 ? "x" : "n" (i - 7)
		op = i == 1300 ? "Sin" : i % 3 ? "Neg" : "AddV2"
		printf "node { name: \"n%d\" op: \"%s\" input: \"%s\" %s attr { key: \"T\" value { type: DT_FLOAT } } }\n", i, op, a, op == "AddV2" ? "input: \"" b "\"" : ""
	}
}' >chain.pbtxt
"$DFG" convert chain.pbtxt -o chain.pb
script has_sin <<'END'
#!/bin/sh
if grep -q Sin "$1"; then exit 1; fi
END
status 0 "$DFG" reduce chain.pb -o small.pb -- ./has_sin
[ "$(nodes small.pb)" = 2 ] # the Sin and a constant
has err 'reduced 2000 nodes to 2 in '
status 0 "$DFG" check small.pb

# The command may look at more than one thing.
export DFG
script ends_in_sin <<'END'
#!/bin/sh
"$DFG" show --text "$1" >shown 2>/dev/null || exit 0
grep -q '"n1999" = ' shown && grep -q Sin shown && exit 9
exit 0
END
status 0 "$DFG" reduce chain.pb -o small.pb -- ./ends_in_sin {}
[ "$(nodes small.pb)" -le 4 ]
has err 'ends with status 9'

# A loop and a branch go as a whole, or lose what is inside; the graph stays valid.
cat >flow.dfg <<'END'
input x: f32[3]
a = loop (s = x) for t in 0..5 { next tanh(s) + cos(s) * 2 }
b = if sum(x) > 0 { exp(a) + 1 } else { a - 2 }
c = loop (s = b) for t in 0..3 { next s * 2 }
output y = sin(c) + a
END
"$DFG" build flow.dfg -o flow.pb
script has_op <<'END'
#!/bin/sh
"$DFG" check -q "$2" || exit 77
if "$DFG" show --text "$2" | grep -q "$1("; then exit 1; fi
END
status 0 "$DFG" reduce flow.pb -o small.pb -- ./has_op Sin {}
[ "$(nodes small.pb)" = 2 ]
status 0 "$DFG" reduce flow.pb -o small.pb -- ./has_op Cos {}
status 0 "$DFG" check small.pb
"$DFG" show --text small.pb >text
never grep -q 'Sin\|Exp\|Merge.*s.1\|Tanh' text
grep -q 'Cos(' text
status 0 "$DFG" reduce flow.pb -o small.pb -- ./has_op Exp {}
"$DFG" show --text small.pb >text
[ "$(nodes small.pb)" -le 3 ] || { cat text; exit 1; }

# Functions that nothing calls go, too.
cat >calls.pbtxt <<'END'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
node { name: "c" op: "PartitionedCall" input: "x" attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT } } } attr { key: "f" value { func { name: "twice" } } } }
node { name: "s" op: "Sin" input: "c" attr { key: "T" value { type: DT_FLOAT } } }
library { function { signature { name: "twice" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type: DT_FLOAT } }
  node_def { name: "m" op: "AddV2" input: "a" input: "a" attr { key: "T" value { type: DT_FLOAT } } } ret { key: "b" value: "m:z:0" } } }
versions { producer: 27 }
END
status 0 "$DFG" reduce calls.pbtxt --to pbtxt -o small.pbtxt -- ./has_op Sin {}
never grep -q 'twice\|Partitioned' small.pbtxt
status 0 "$DFG" reduce calls.pbtxt --to pbtxt -o small.pbtxt -- sh -c '! grep -q twice "$1"' sh
grep -q 'twice' small.pbtxt

# A graph with a fault is reduced to the fault.
sed 's/op: "Sin"/op: "Sinn"/' chain.pbtxt >bad.pbtxt
status 0 "$DFG" reduce bad.pbtxt -o small.pb -- "$DFG" check
[ "$(nodes small.pb)" -le 3 ]
status 65 "$DFG" check small.pb
has err "Sinn"

# Attributes, devices, control inputs and the elements of constants go where they do not matter.
cat >marks.pbtxt <<'END'
node { name: "c" op: "Const" device: "/job:worker/task:1" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 2 float_val: 5 } } } }
node { name: "n" op: "NoOp" }
node { name: "s" op: "Sin" device: "/job:worker/task:1" input: "c" input: "^n" attr { key: "T" value { type: DT_FLOAT } } attr { key: "_dfg_output" value { i: 0 } } }
END
status 0 "$DFG" reduce marks.pbtxt --to pbtxt -o small.pbtxt -- ./has_op Sin {}
never grep -q 'device\|_dfg\|NoOp\|\^n' small.pbtxt
never grep -q 'float_val: 5\|tensor_content' small.pbtxt

# A command that never or always fails, or by chance, is said so; one that hangs can be reduced.
status 65 "$DFG" reduce chain.pb -o no.pb -- true
has err 'true does not fail for the graph'
status 65 "$DFG" reduce chain.pb -o no.pb -- false
has err 'false always fails'
[ ! -e no.pb ]
script by_chance <<'END'
#!/bin/sh
n=$(cat count 2>/dev/null || echo 0)
echo $((n + 1)) >count
[ -s "$1" ] && [ "$n" -lt 5 ] && grep -q Sin "$1" && exit 3
exit 0
END
status 65 "$DFG" reduce chain.pb -o no.pb -- ./by_chance
has err 'does not fail reliably'
script hangs <<'END'
#!/bin/sh
grep -q Sin "$1" && sleep 600
exit 0
END
status 0 "$DFG" reduce flow.pb --timeout 0.3 -o small.pb -- ./hangs
has err 'status 124'
status 66 "$DFG" reduce chain.pb -o no.pb -- ./no-such-command
status 2 "$DFG" reduce chain.pb
# The graph goes to stdout without -o; what the command prints does not, and with -v it goes to stderr.
status 0 "$DFG" reduce chain.pb -v -- sh -c 'echo printed; ! grep -q Sin "$1"' sh
"$DFG" check out
has err printed
# No file is left.
mkdir temporary
TMPDIR=$PWD/temporary "$DFG" reduce -q chain.pb -o small.pb -- ./has_sin
[ -z "$(ls temporary)" ]

# A signal ends the command that runs, though that ignores it, and the smallest graph so far is the result.
script stays <<'END'
#!/bin/sh
trap '' TERM
n=$(($(cat runs 2>/dev/null || echo 0) + 1))
echo $n >runs
if [ $n = "$(cat last)" ]; then
	echo $$ >waiting
	while :; do sleep 600; done
fi
if grep -q Sin "$1"; then exit 1; fi
END
interrupted() { # LAST: at that run of the command
	rm -f runs waiting
	echo "$1" >last
	TMPDIR=$PWD/temporary "$DFG" reduce chain.pb -o part.pb -- ./stays 2>err &
	pid=$!
	within test -s waiting
	kill $pid
	got=0
	wait $pid || got=$?
	[ $got = 143 ]
	within gone "$(cat waiting)"
	[ -z "$(ls temporary)" ]
}
interrupted 8
[ "$(nodes part.pb)" -lt 2000 ]
has err 'in 7 runs of ./stays, which ends with status 1'
status 1 ./has_sin part.pb
rm part.pb
interrupted 1
[ ! -e part.pb ]
