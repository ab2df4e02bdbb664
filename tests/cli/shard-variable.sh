# Variables in rows over several ones: `--shard-variable`. Values are those without it, to the bit; files have whole variables.
. "$ROOT/tests/cli/kit"

cat >embed.dfg <<'.'
input ids: i32[n, 2]
input y: f32[n]
param table: f32[10, 3] = normal([10, 3], deviation = 0.5)
param b: f32[] = zeros
output guess = Sum(Gather(table, ids), [1, 2]) + Sum(Gather(table, i64(y)), [1]) + b
output loss = mean((guess - y) ** 2)
.
"$DFG" build embed.dfg -o embed.pb
"$DFG" run - --fetch ids -o ids.npy <<'.'
ids = reshape(FloorMod(i32(range(48)) * 7 + 3, 10), [24, 2])
output ids
.
"$DFG" run - --fetch y -o y.npy <<'.'
y = f32(FloorMod(i32(range(24)) * 5 + 1, 10))
output y
.
train() { # GRAPH NAME OPTIONS...
	graph=$1
	name=$2
	shift 2
	status 0 timeout 60 "$DFG" run "$graph.pb" --data ids=@ids.npy --data y=@y.npy --target train --fetch loss,guess --batch 8 \
		--epochs 2 --metrics "$name.jsonl" --save "$name.safetensors" -o "$name.npz" --seed 7 "$@"
}
same() { # NAME NAME
	cmp "$1.jsonl" "$2.jsonl"
	cmp "$1.safetensors" "$2.safetensors"
	cmp "$1.npz" "$2.npz"
}

# 29. K = 1, 2, 4, mod and div; rows and slots of rows (adagrad), whole reads and assignments (adam, --dense).
for rule in sgd adagrad adam; do
	"$DFG" grad embed.pb --loss loss --optimizer "$rule(lr=0.1)" -o "$rule.pb" 2>notes
	train "$rule" whole
	for parts in 1 2,mod 4 4,div; do
		train "$rule" parts --shard-variable "table=$parts"
		same whole parts
	done
done
"$DFG" grad embed.pb --loss loss --optimizer 'sgd(lr=0.1)' --dense -o dense.pb
train dense parts --shard-variable 'tab*=3'
train sgd whole
same whole parts
train adagrad shards --shards 3
train adagrad parts --shards 3 --shard-variable table=4,div
same shards parts

# Over hosts, and parameter servers.
train adagrad whole
train adagrad parts --shard-variable table=2 --hosts local:2 --place '*table/0*=w0' --place '*table/1*=w1'
same whole parts
printf 'local:2\nlocal:2 job=ps\n' >servers
train adagrad parts --shards 3 --shard-variable table=4 --hosts ./servers --sync ps --replicas 2
same shards parts

# The slots of a part have its name in theirs.
status 0 "$DFG" partition adagrad.pb --hosts local:2 --shard-variable table=2 --place '*table/0*=w0' --place '*table/1*=w1' --explain
[ "$(awk '$1 == "train/table/1/sums" { print $2 }' out)" = w1 ] || { cat out; exit 1; }

# Checkpoints and --load: whole under the variable's own name, for any number of parts.
train adagrad whole
train adagrad half --steps 4 --checkpoint ck --shard-variable table=4
train adagrad half --resume --checkpoint ck --shard-variable table=3,div
cmp whole.safetensors half.safetensors
train adagrad half --steps 4 --checkpoint ck --force --shard-variable table=4
train adagrad half --resume --checkpoint ck
cmp whole.safetensors half.safetensors
train adagrad one --load whole.safetensors
train adagrad parts --load whole.safetensors --shard-variable table=4
same one parts
"$DFG" show whole.safetensors >out
has out table
never grep -qE 'table/[0-9]' out

# The bytes of a step do not depend on the rows of the table.
bytes() { # ROWS
	sed "s/10, 3/$1, 3/g" embed.dfg >big.dfg
	"$DFG" build big.dfg -o big.pb
	"$DFG" grad big.pb --loss loss --optimizer 'sgd(lr=0.1)' -o big-train.pb 2>notes
	status 0 "$DFG" run big-train.pb --data ids=@ids.npy --data y=@y.npy --target train --fetch loss --batch 8 --stats \
		--shard-variable table=2 --hosts local:2 --place '*table/0*=w0' --place '*table/1*=w1'
	grep '^bytes' err
}
[ "$(bytes 10)" = "$(bytes 1000)" ] || { bytes 10; bytes 1000; exit 1; }

# Rows that are not there, and words and variables that do not fit.
"$DFG" run - --fetch ids -o ids.npy <<'.'
ids = reshape(i32(range(48)), [24, 2])
output ids
.
run() { # STATUS OPTIONS...
	wanted=$1
	shift
	status "$wanted" "$DFG" run sgd.pb --data ids=@ids.npy --data y=@y.npy --target train --batch 8 "$@"
}
for how in mod div; do
	run 65 --shard-variable "table=4,$how"
done
run 2 --shard-variable table
has err "--shard-variable must be PATTERN=K, PATTERN=K,mod or PATTERN=K,div, not 'table'"
run 2 --shard-variable table=2,row
run 2 --shard-variable table=0
has err 'the number of parts must be from 1 to 1024'
run 65 --shard-variable tabel=2
has err "--shard-variable 'tabel=2' matches no variable"
status 65 "$DFG" partition sgd.pb --hosts local:2 --shard-variable tabel=2 -o nothing
never grep -q 'sgd.pb: sgd.pb' err
# A pattern that another one overrides has matched.
status 0 "$DFG" run sgd.pb --target init --shard-variable table=2 --shard-variable 'tab*=3'
run 65 --shard-variable table=11
has err "node 'table' (VarHandleOp): a variable of 10 rows cannot be divided into 11 parts"
run 65 --shard-variable b=1
has err 'only a resource variable of known shape, with at least one dimension, has rows'
run 2 --shard-variable table=2 --eval-graph embed.pb --eval-data ids=@ids.npy --eval-data y=@y.npy --eval-fetch loss
has err '--eval-graph cannot be used with --shard-variable'

# Indices that i32 cannot hold.
printf 'input at: i64[n]\nparam t: f32[6] = ones\noutput y = Gather(t, at)\n' >wide.dfg
"$DFG" build wide.dfg -o wide.pb
for how in mod div; do
	for at in 8589934592 -8589934592 4294967296 9223372036854775807; do
		status 65 "$DFG" run wide.pb --feed "at=i64[2]:0,$at" --fetch y --shard-variable "t=4,$how"
		has err 'outside'
	done
	status 0 "$DFG" run wide.pb --feed "at=i64[2]:0,5" --fetch y --shard-variable "t=4,$how"
done

# Marks of parts in a graph of another program, which contradict each other.
part() { # NAME PART PARTS ALL ROWS
	cat <<END
node { name: "$1" op: "VarHandleOp"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: $5 } } } }
  attr { key: "_dfg_rows_of" value { s: "w" } }
  attr { key: "_dfg_rows_part" value { i: $2 } }
  attr { key: "_dfg_rows_parts" value { i: $3 } }
  attr { key: "_dfg_rows_all" value { i: $4 } }
  attr { key: "_dfg_rows_div" value { i: 0 } } }
node { name: "$1/value" op: "Const"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: $5 } } float_val: 7 } } } }
node { name: "$1/set" op: "AssignVariableOp" input: "$1" input: "$1/value" attr { key: "dtype" value { type: DT_FLOAT } } }
END
}
marked() { # STATUS
	status "$1" "$DFG" run marked.pbtxt --target a/set --target b/set --save marked.npz
}
{ part a 0 2 3 2; part b 1 2 3 1; } >marked.pbtxt
marked 0
{ part a 0 2 4 2; part b 9999999 10000000 10000000 1; } >marked.pbtxt
marked 65
has err "variable 'w': part 9999999 has a dtype or shape that does not fit"
{ part a 0 2 4 2; part b 0 2 4 2; } >marked.pbtxt
marked 65
has err "variable 'w': part 0 occurs twice"
{ part a 0 2 9223372036854775807 2; part b 1 2 9223372036854775807 2; } >marked.pbtxt
marked 0
