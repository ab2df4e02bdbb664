# dfg bench on workers: the all-reduce, links, and calls of parameter servers, whose data are compared with closed forms.
. "$ROOT/tests/cli/kit"

bench() { # "SIZES" OPTIONS...: a document with these sizes, each value verified
	bytes=$1
	shift
	status 0 timeout 60 "$DFG" bench "$@" --verify --json --repeat 30
	python3 - out "$bytes" <<'END'
import json, sys
document = json.load(open(sys.argv[1]))
assert document["verified"] is True
rows = document["rows"]
assert [r["bytes"] for r in rows] == [int(b) for b in sys.argv[2].split()], rows
for r in rows:
    assert 0 < r["p50_us"] <= r["p99_us"] and r["calls_per_s"] > 0, r
    assert r["bytes_per_s"] >= 0.99 * r["bytes"] * r["calls_per_s"] - 1, r
END
}

# The last size need not be a factor of 4.
bench '4 16 64' allreduce --hosts local:3 --sizes 4:64 --algorithm shm
bench '65536 100000' allreduce --hosts local:2 --sizes 64KiB:100KB --algorithm shm
bench '4 16 64 256 1024' allreduce --hosts local:4 --sizes 4:1024 --algorithm halving
bench '4 16 64 256 1024' allreduce --hosts local:3 --sizes 4:1024 --algorithm ring --transport libcurl
bench '64 256 1000' allreduce --sizes 64:1000 --algorithm direct # of local:2

# A payload of one element has one buffer; of a large one the sizes differ by the pattern.
for transport in shm libcurl; do
	bench '4 16 44' link --sizes 4:44 --transport $transport --payload skew
	bench '1000000' link --sizes 1000000 --transport $transport --payload random
	bench '400000' ps --sizes 400000 --transport $transport --payload skew --mode serialized
done
bench '4 12' link --sizes 4:12 --mode serialized --payload random
has out '"coding_us": '
bench '4 16' ps --sizes 4:16 --hosts local:3
has err "no host has job=ps, so w0 is the server"
never grep -q coding_us out

# From the first worker to each of the others; servers are the hosts of that job.
bench '64 64' link --hosts local:3 --sizes 64
has out '"from": "w0", "to": "w1"'
has out '"from": "w0", "to": "w2"'
printf 'local:2\nlocal:2 job=ps\n' >hosts
bench '64 256' ps --hosts ./hosts --sizes 64:256 --payload random
never grep -q 'is the server' err
printf 'local:2 job=ps\n' >hosts
status 65 "$DFG" bench ps --hosts ./hosts --sizes 64
has err 'there is no worker that could call them'

status 0 timeout 60 "$DFG" bench allreduce --hosts local:2 --sizes 64 --repeat 1
has out 'p50 us'
status 0 timeout 60 "$DFG" bench link --sizes 64 --mode serialized
has out 'coding us'
[ "$(grep -c '^w1 ' out)" = 1 ]

for what in allreduce link ps; do
	status 65 "$DFG" bench $what --hosts local:1
	has err '--hosts has 1 worker'
	for wrong in 6 2:64 64:4 x 4:; do
		status 2 "$DFG" bench $what --hosts local:2 --sizes "$wrong"
		has err '--sizes'
	done
done
status 2 "$DFG" bench link --payload even
has err "--payload must be uniform, random or skew, not 'even'"
status 2 "$DFG" bench ps --mode packed
has err "--mode must be raw or serialized, not 'packed'"
status 2 "$DFG" bench link --sizes 4:3GiB --mode serialized
has err 'less than 2 GiB'
status 2 "$DFG" bench allreduce --mode raw
has err 'only for bench link and bench ps'
status 2 "$DFG" bench link --algorithm shm
has err 'only for bench allreduce'
status 2 "$DFG" bench graph --hosts local:2
has err 'only for bench allreduce, link and ps'
status 2 "$DFG" bench link --hosts local:2 --nodes 4
has err 'only for the generated graph'

status 2 "$DFG" bench graph --repeat 4
has err "other than 'graph'"

# A worker that is killed ends the measurement, and leaves nothing on stdout.
"$DFG" bench link --json --lease 60 >out 2>err &
bench=$!
within pgrep -P $bench >workers
sleep 0.5 # wherever it is, the end is the same
kill -KILL "$(head -n 1 workers)"
within gone $bench || kill $bench
rc=0
wait $bench || rc=$?
[ $rc = 69 ]
[ ! -s out ]
grep -q "w[01]: ended by signal 9" err
