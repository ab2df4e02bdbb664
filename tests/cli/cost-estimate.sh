# The cost estimate says before a step what it sends: formulas of `dfg partition --explain --json`, held against what --stats counted.
cat >compare.py <<'P'
"""compare.py NAME EXACT TRIPS SIZE: n of every loop that is not in TRIPS ("a/b=6,c=2,3": 3 of any other), all sizes alike."""
import json, sys

name, exact, iterations, size = sys.argv[1:]
words = iterations.split(",")
count = dict((loop, int(n)) for loop, n in (word.split("=") for word in words[:-1]))
bill = json.load(open("bill.json"))["bill"]
stats = json.load(open("out"))["stats"]


def amount(terms):
    total = 0
    for term in terms:
        value = term["times"]
        for _ in filter(None, term["sizes"].split("*")):
            value *= int(size)
        if term["loop"]:
            value *= count.get(term["loop"], int(words[-1]))
        total += value
    return total


links = {f"{link['from']}>{link['to']}": link for link in bill["links"]}
sent = 0
for what in "messages", "bytes":
    for pair in set(links) | set(stats[what]):
        asked = amount(links[pair][what]["terms"]) if pair in links else 0
        was = stats[what].get(pair, 0)
        sent += was
        if was != asked if exact == "exact" else was > asked:
            sys.exit(f"{name}: {what} {pair}: {was} were sent, the bill says {asked}: {bill[what]['formula']}")
if not sent and exact == "exact" and bill["messages"]["formula"] != "0":
    sys.exit(f"{name}: nothing was sent")
P
holds() { # NAME EXACT TRIPS SIZE OPTIONS...: of NAME.dfg
	name=$1 exact=$2 iterations=$3 size=$4
	shift 4
	"$DFG" build "$name.dfg" -o "$name.pb"
	"$DFG" partition "$name.pb" --hosts local:3 --explain --json >bill.json
	grep -q '"loop":"[^"]\|"sizes":"b' bill.json || [ "$name" = straight ] || [ "$name" = unmarked ] || { echo "$name is not cut"; exit 1; }
	"$DFG" run "$name.pb" --hosts local:3 --stats --json "$@" >out 2>err || { cat err; exit 1; }
	python3 compare.py "$name" "$exact" "$iterations" "$size"
}

cat >straight.dfg <<'P'
input x: f32[?, 3]
on "w1" { h = x * 2.0 }
on "w2" { a = tanh(h) }
output y = sum(h) + sum(a)
P
holds straight exact 0 5 --feed x=normal:f32[5,3]:seed=1

# A variable without a mark, as in a graph of TensorFlow: its initialiser is found as run finds it, and is not part of a step.
cat >unmarked.dfg <<'P'
input x: f32[3]
on "w1" { v = VarHandleOp(dtype = f32, shape = [3]) }
on "w2" { first = RandomStandardNormal([3], dtype = f32) * 0.1 }
AssignVariableOp(v, first)
output y = ReadVariableOp(v, dtype = f32) * x
P
holds unmarked exact 0 3 --feed x=normal:f32[3]:seed=1

# A count, a condition that only one device can tell, and what is read in the next turn.
cat >counted.dfg <<'P'
input x: f32[?, 3]
input n: i32[]
a = loop (a = x) for i in 0..n {
	on "w1" { b = a * 1.5 }
	next b + 1.0
}
output y = sum(a)
P
cat >asked.dfg <<'P'
input x: f32[?, 3]
input n: i32[]
a, count = loop (a = x, count = 0.0) while count < f32(n) {
	on "w1" { b = a * 1.5 }
	on "w2" { c = b + 1.0 }
	next c, count + 1.0
}
output y = sum(a)
P
for n in 0 1 7; do
	for name in counted asked; do
		holds $name exact $n 2 --feed x=normal:f32[2,3]:seed=1 --feed n=$n
	done
done

# One loop in another, the inner one as often as the outer one has gone.
cat >ragged.dfg <<'P'
input x: f32[?, 3]
a, s = loop (a = x, s = 0.0) for i in 0..4 {
	b = loop (b = a) for j in 0..i {
		on "w1" { c = b * 2.0 }
		next c + 1.0
	}
	on "w2" { part = sum(b) }
	next b, s + part
}
output y = s
P
holds ragged exact "a=4,6" 2 --feed x=normal:f32[2,3]:seed=1
cat >search.dfg <<'P'
input x: f32[?, 3]
a, s = loop (a = x, s = 0.0) for i in 0..3 {
	b, left = loop (b = a, left = f32(i) + 1.0) while left > 0.0 {
		on "w1" { c = b * 2.0 }
		next c, left - 1.0
	}
	next b, s + sum(b)
}
output y = s
P
holds search exact "a=3,6" 2 --feed x=normal:f32[2,3]:seed=1

# Arrays that are written and read element by element on other devices than that of the loop.
cat >arrays.dfg <<'P'
input xs: f32[6, ?]
total, ys = loop (total = zeros([6])) for x in xs {
	on "w1" { square = x * x }
	on "w2" { yield sum(square) }
	next total + sum(square)
}
output y = sum(ys)
output z = total
P
holds arrays exact 6 2 --feed xs=normal:f32[6,2]:seed=1

# And backwards.
cat >backwards.dfg <<'P'
input x: f32[4, 4]
input v: f32[4, 4]
h = loop (h = x) for i in 0..5 {
	on "w1" { u = tanh(h @ v) }
	next u + h
}
output g = grad(sum(h), v)
P
holds backwards exact 5 4 --feed x=normal:f32[4,4]:seed=1 --feed v=normal:f32[4,4]:seed=2

# Branches count as taken: never more than that is sent, and just that where they are.
cat >branches.dfg <<'P'
input x: f32[?, 3]
input on: i32[]
a = loop (a = x) for i in 0..4 {
	next if i < on {
		on "w1" { b = a * 2.0 }
		b + 1.0
	} else {
		a
	}
}
output y = sum(a)
P
for taken in 0 2 4; do
	holds branches most 4 2 --feed x=normal:f32[2,3]:seed=1 --feed on=$taken
done
