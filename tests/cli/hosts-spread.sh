# dfg run --data NAME=alpha:@F1,beta:@F2 and NAME=*:@FILE: hosts read the rows that they have; the results are those of one file.
. "$ROOT/tests/cli/kit"

# Each host has a folder of its own.
for host in w0 w1; do
	mkdir $host
	printf '#!/bin/sh\ncd "%s" && exec "%s" "$@"\n' "$PWD/$host" "$DFG" >$host/worker
	chmod +x $host/worker
	echo "local:1 dfg=$PWD/$host/worker"
done >hosts
python3 - <<'END'
import struct
def npy(data, shape, descr="<f4"):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    head += " " * (117 - len(head)) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
def f32(rows):
    return b"".join(struct.pack("<%df" % len(row), *row) for row in rows)
def write(name, data):
    open(name, "wb").write(data)
x = [(((i * 389 + 17) % 1024 - 512) / 1024, ((i * 611 + 5) % 1024 - 512) / 1024) for i in range(100)]
t = [(3 * a - b + 1,) for a, b in x]
write("x.npy", npy(f32(x), (100, 2)))
write("t.npy", npy(f32(t), (100, 1)))
write("w0/x-0.npy", npy(f32(x[:30]), (30, 2)))
write("w1/x-1.npy", npy(f32(x[30:41]), (11, 2)))
write("w1/x-2.npy", npy(f32(x[41:90]), (49, 2)))
write("x-3.npy", npy(f32(x[90:]), (10, 2)))
write("w0/t.npy", npy(f32(t), (100, 1)))
write("w1/t.npy", npy(f32(t), (100, 1)))
write("w0/t-0.npy", npy(f32(t[:33]), (33, 1)))
write("w1/t-1.npy", npy(f32(t[33:]), (67, 1)))
write("w0/short.npy", npy(f32(t), (100, 1)))
write("w1/short.npy", npy(f32(t[:99]), (99, 1)))
write("w0/other.npy", npy(f32(t), (100, 1)))
write("w1/other.npy", npy(f32([(9,)] + t[1:]), (100, 1)))
write("w1/only.npy", npy(f32(t), (100, 1)))
write("w1/wide.npy", npy(f32(t[:99]), (33, 3)))
words = [b"w%d" % (i * i) for i in range(10)]
for name, part in (("words.npy", words), ("w0/words-0.npy", words[:4]), ("w1/words-1.npy", words[4:])):
    write(name, npy(b"".join(w.ljust(4, b"\0") for w in part), "(%d,)" % len(part), "|S4"))
END
cat >line.dfg <<'END'
input x: f32[n, 2]
input t: f32[n, 1]
param w: f32[2, 1] = zeros
param b: f32[] = zeros
output loss = mean((x @ w + b - t) ** 2)
END
status 0 "$DFG" grad line.dfg --loss loss --optimizer 'momentum(lr=0.05)' -o line.pb
train() { # X T NAME OPTIONS
	x=$1 t=$2 name=$3
	shift 3
	"$DFG" run line.pb --batch 16 --target train --fetch loss --metrics "$name.jsonl" --save "$name.npz" --data "x=$x" --data "t=$t" "$@"
}
set -f
parts='w0:@x-0.npy,w1:@x-1.npy,@x-2.npy,w1:@x-2.npy'
whole='w0:@x-0.npy,w1:@x-1.npy,@x-2.npy'
for options in '--epochs 3' '--epochs 2 --no-shuffle --drop-last'; do
	# shellcheck disable=SC2086
	{
		head -c 848 x.npy >cut.npy # 90 samples are in the files of the hosts
		python3 -c 'b = open("cut.npy", "rb").read(); open("cut.npy", "wb").write(b.replace(b"(100, 2)", b"(90, 2) "))'
		python3 -c 'b = open("t.npy", "rb").read()[:488]; open("cut-t.npy", "wb").write(b.replace(b"(100, 1)", b"(90, 1) "))'
		status 0 train @cut.npy @cut-t.npy one $options
		status 0 train "$whole" @cut-t.npy two --hosts ./hosts $options
		cmp one.jsonl two.jsonl
		cmp one.npz two.npz
		status 0 train @x.npy @t.npy one $options
		status 0 train @x.npy '*:@t.npy' two --hosts ./hosts $options --place t=w1
		cmp one.npz two.npz
		cmp one.jsonl two.jsonl
		status 0 train @x.npy '*:@only.npy' two --hosts ./hosts $options --place t=w0
		cmp one.npz two.npz
		status 0 train @x.npy '*:@t.npy' two $options # locally, there is one host
		cmp one.npz two.npz
	}
done

# Files of this machine among them; rows of strings; inference in order.
printf 'input x: f32[?,2]\noutput y = x\n' >copy.dfg
status 0 "$DFG" run copy.dfg --data x=@x-3.npy,@w0/x-0.npy,@w1/x-1.npy,@w1/x-2.npy --batch 7 -o one.npy
status 0 "$DFG" run copy.dfg --hosts ./hosts --data "x=@x-3.npy,$whole" --batch 7 -o two.npy
cmp one.npy two.npy
printf 'input x: string[?]\noutput y = x\n' >words.dfg
status 0 "$DFG" run words.dfg --data x=@words.npy --batch 3 -o one.npy
status 0 "$DFG" run words.dfg --hosts ./hosts --data x=w0:@words-0.npy,w1:@words-1.npy --batch 3 -o two.npy
cmp one.npy two.npy
# Two files of one host: its second request follows its first.
status 0 "$DFG" run words.dfg --data x=@w0/words-0.npy,@w1/words-1.npy,@w0/words-0.npy --batch 9 -o one.npy
status 0 "$DFG" run words.dfg --hosts ./hosts --data x=w0:@words-0.npy,w1:@words-1.npy,w0:@words-0.npy --batch 9 -o two.npy
cmp one.npy two.npy
# A row that cannot be read names host and file.
printf '\1\0\1\0\1\2' >w1/bools.bin
printf 'input x: bool[?]\noutput y = x\n' >bools.dfg
status 65 "$DFG" run bools.dfg --hosts ./hosts --data 'x=w1:@bools.bin[bool:2][0],w1:@bools.bin[bool:2][1]' --batch 6
has err 'w1: bools.bin[bool:2][1]: rows '

# Replicas: each reads the rows of its shards, or they are sent to it.
for data in '*:@t.npy' 'w1:@t.npy' 'w0:@t-0.npy,w1:@t-1.npy' '*:@only.npy'; do
	for shards in 2 3; do
		status 0 train @x.npy @t.npy one --epochs 2 --shards $shards
		status 0 train @x.npy "$data" two --epochs 2 --shards $shards --hosts ./hosts --replicas 2
		cmp one.jsonl two.jsonl
		cmp one.npz two.npz
		status 0 train @x.npy "$data" two --epochs 2 --shards $shards --hosts ./hosts --no-shuffle
		status 0 train @x.npy @t.npy one --epochs 2 --shards $shards --no-shuffle
		cmp one.npz two.npz
	done
done

# Errors name host and file.
fails() { # STATUS WORDS X T
	status "$1" train "$3" "$4" none --hosts ./hosts
	has err "$2"
}
fails 65 'w1: short.npy is f32[99,1], but on w0 it is f32[100,1]' @x.npy '*:@short.npy'
fails 65 'w1: the first rows of other.npy differ from those on w0' @x.npy '*:@other.npy'
fails 66 'none.npy: No such file or directory' @x.npy '*:@none.npy'
fails 66 'w0: x-1.npy: No such file or directory' "w0:@x-1.npy,w1:@x-2.npy" @t.npy
fails 65 'w1:@wide.npy holds samples of f32[?,3], but the files before it of f32[?,1]' @x.npy w0:@t.npy,w1:@wide.npy
fails 65 "$parts has 139 samples, but t.npy has 100" "$parts" @t.npy
fails 65 "host 'gamma' is not in --hosts" w0:@x-0.npy,gamma:@x-1.npy @t.npy
status 2 train "$whole" @t.npy none
has err "'$whole': this run is local and has no other hosts"
