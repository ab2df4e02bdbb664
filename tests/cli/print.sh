# Print and PrintV2 write on stderr, as often as first_n says, and not with --quiet.
. "$ROOT/tests/cli/kit"

cat >print.pbtxt <<'END'
node { name: "x" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4 } } float_val: [1.5, 2, 3, 4] } } } }
node { name: "p" op: "Print" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "U" value { list { type: DT_FLOAT } } } attr { key: "message" value { s: "M" } }
  attr { key: "first_n" value { i: 2 } } }
node { name: "s" op: "StringFormat" input: "x" attr { key: "T" value { list { type: DT_FLOAT } } }
  attr { key: "template" value { s: "x is %s" } } }
node { name: "line" op: "PrintV2" input: "s" }
END
"$DFG" run print.pbtxt --fetch p --repeat 4 --warmup 0 >out 2>err
[ "$(grep -c '^M\[1.5 2 3...\]$' err)" = 2 ]
"$DFG" run print.pbtxt --fetch x --target line >out 2>err
[ "$(cat err)" = 'x is [1.5 2 3 4]' ]
"$DFG" run print.pbtxt --fetch x --target line -q >out 2>err
[ ! -s err ]
