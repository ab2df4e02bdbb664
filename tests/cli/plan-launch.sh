# Finding 46: partition stores --transport, --lease, --restarts and --push in the plan; a run of the plan takes them, unless they are on its
# command line. And run --explain, which says what partition --explain says.
. "$ROOT/tests/cli/kit"
printf 'input x: f64[n]\nmid = x * 2.0\noutput y = mid + 1.0\n' >p.dfg
place="--place *=w0 --place y*=w1"
divide() { # FOLDER OPTIONS...
	folder=$1
	shift
	# shellcheck disable=SC2086
	status 0 "$DFG" partition p.dfg --hosts local:2 $place -o "$folder" "$@"
}
result() {
	printf 'y: f64[1]\n3\n' | cmp - out
}
run() { timeout 20 "$DFG" run "$@" --feed x=f64[1]:1; }

# The options that are given are in the manifest and in show, and no others.
divide plain
never grep -q launch plain/manifest.json
divide plan --transport libcurl --lease 7.5 --restarts 3 --push
grep -qF '"version":1,"launch":{"transport":"libcurl","lease":7.5,"restarts":3,"push":true},"devices":[' plan/manifest.json
sed 's/"launch":{[^}]*},//' plan/manifest.json | cmp - plain/manifest.json
status 0 "$DFG" check plan
status 0 "$DFG" show plan
has out 'takes --transport libcurl --lease 7.5 --restarts 3 --push from this plan'
status 0 "$DFG" show plan --json
has out '"launch":{"transport":"libcurl","lease":7.5,"restarts":3,"push":true},"bill"'
status 0 "$DFG" show plain --json
never grep -q launch out
for option in '--transport pigeon' '--lease 0' '--restarts -1' '--restarts 1e9' '--restarts 4294967296'; do
	# shellcheck disable=SC2086
	status 2 "$DFG" partition p.dfg --hosts local:2 $option -o none
done
[ ! -e none ]

# The transport.
status 0 run plan --hosts local:2 -v
has err 'w0 and w1: libcurl'
result
status 0 run plan --hosts local:2 -v --transport auto
has err 'w0 and w1: shm'
divide plan --transport shm
status 0 run plan/ --hosts local:2 -v
has err 'w0 and w1: shm'
status 0 run plain --hosts local:2 -v
has err 'w0 and w1: shm'

# The lease, by a worker that stops, and restarts, by one that ends; only the first of its kind does, if ONCE says so.
cat >broken <<'.'
#!/bin/sh
case " $* " in *" --number 1 "*) ;; *) exec "$DFG" "$@" ;; esac
[ ! -e once ] || [ ! -e began ] || exec "$DFG" "$@"
touch began
mkfifo "hello.$$"
exec 3<&0
"$DFG" "$@" <&3 >"hello.$$" 2>/dev/null &
worker=$!
exec 4<"hello.$$" 3<&-
read -r hello <&4
kill "-$HOW" $worker
echo "$hello"
wait $worker
.
chmod +x broken
echo "local:2 dfg=$PWD/broken" >hosts
divide plan --lease 5
export HOW=STOP
silent() { # FOLDER OPTIONS...: the seconds after which the stopped worker is lost
	folder=$1
	shift
	status 69 run "$folder" --hosts ./hosts "$@"
	has err 'w1: silent for '
	sed 's/.*silent for \([0-9.]*\) s.*/\1/' err
}
at_least_5() { awk -v seconds="$1" 'BEGIN {exit !(seconds >= 5)}'; }
at_least_5 "$(silent plan)" # without a lease it would be 2.5
never at_least_5 "$(silent plan --lease 0.1)"
divide plan --restarts 1
export HOW=KILL
status 69 run plan --hosts ./hosts
grep -q 'w1: exited with status 137.*; restarting' err
touch once
rm began
status 0 run plan --hosts ./hosts
has err '; restarting'
result
rm began
status 69 run plan --hosts ./hosts --restarts 0
never grep -q restarting err

# Another --push cannot be seen on this machine; --no-push excludes it.
divide plan --push
status 0 run plan --hosts local:2 --no-push
status 2 run plan --hosts local:2 --no-push --push
has err 'exclude each other'

# A manifest that was changed.
for change in 's/"push":true/"push":1/' 's/"push":true/"transport":"pigeon"/' 's/"push":true/"transport":5/' \
	's/"push":true/"lease":1e9/' 's/"push":true/"restarts":-1/' 's/"push":true/"restarts":4294967296/' \
	's/{"push":true}/[]/' 's/"push":true/"transport":"a name too long for any"/'; do
	cp -r plan changed
	sed -i "$change" changed/manifest.json
	cmp -s plan/manifest.json changed/manifest.json && exit 1
	status 65 run changed --hosts local:2
	has err 'manifest.json'
	rm -r changed
done

# run --explain: stderr has the lines of partition --explain, stdout the result; --json has its document.
# shellcheck disable=SC2086
"$DFG" partition p.dfg --hosts local:2 $place --explain >explained
# shellcheck disable=SC2086
status 0 run p.dfg --hosts local:2 $place --explain
cmp explained err
grep -q '^mid  w0  --place' err
result
# shellcheck disable=SC2086
"$DFG" partition p.dfg --hosts local:2 $place --explain --json >explained
# shellcheck disable=SC2086
status 0 run p.dfg --hosts local:2 $place --explain --json
[ ! -s err ]
python3 - <<'.'
import json
whole = json.load(open("out"))
assert whole["explanation"] == json.load(open("explained"))
assert whole["results"]["y"]["value"] == [3.0]
.
status 2 run p.dfg --explain
has err '--explain requires --hosts or --device'
status 2 run plan --hosts local:2 --explain
has err 'dfg show'

# Replicas and parallel loops are explained as partition explains them.
cat >train.dfg <<'.'
input x: f32[n, 3]
param w: f32[3, 1] = zeros
output loss = mean((x @ w) ** 2)
.
"$DFG" grad train.dfg --loss loss --optimizer 'sgd(lr=0.1)' -o train.pb
"$DFG" partition train.pb --hosts local:2 --replicas 2 --explain >explained
grep -q mean explained
printf 'output x = ones([8, 3])\n' >ones.dfg
"$DFG" run ones.dfg -o x.npy
status 0 "$DFG" run train.pb --hosts local:2 --replicas 2 --no-opt --data x=@x.npy --target train --explain
while read -r line; do
	has err "$line"
done <explained
