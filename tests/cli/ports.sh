# Finding 30: a hosts file says on which ports workers listen for tensors.
. "$ROOT/tests/cli/kit"
printf 'input x: f64[n]\ny = x * 2.0\noutput z = y + 1.0\n' >p.dfg
run() { "$DFG" run p.dfg --feed x=f64[1]:1 --hosts ./hosts --transport libcurl --place x=w0 --place y=w1 --place z=w0 "$@"; }
first=$((20000 + $$ % 20000))
worker --transport libcurl --listen 127.0.0.1:$first-$((first + 20))
has hello '"address":"127.0.0.1:'
taken=$(sed 's/.*127.0.0.1:\([0-9]*\)".*/\1/' hello)
[ "$taken" -ge $first ]
[ "$taken" -le $((first + 20)) ]

# One is taken, two are left: a worker each; of one that is taken, nobody gets any.
echo "local:2 port=$taken-$((taken + 20))" >hosts
status 0 run
has out '3'
echo "local:1 port=$taken" >hosts
status 69 "$DFG" run p.dfg --feed x=f64[1]:1 --hosts ./hosts --transport libcurl
has err "cannot listen on 127.0.0.1:$taken"
exec 3>&-
wait $worker

refused() { # LINE WORDS
	echo "$1" >hosts
	status 78 run
	has err "$2"
}
refused 'local:3 port=7000-7001' 'port= has 2 ports (7000-7001) for 3 workers'
refused 'alpha slots=2 tcp=10.0.0.1:7000' 'tcp= has 1 port (7000) for 2 workers'
refused 'alpha port=7001-7000' 'port= has the range of ports 7001-7000, whose end is before its start'
for ports in 0 70000 7000- -7000 7000,7002 70000-70001 7000-7001-7002 7000-70000 '' x 0007000; do
	refused "alpha port=$ports" "the port of port= must be a number from 1 to 65535 or a range P1-P2, not '$ports'"
done
refused 'alpha tcp=10.0.0.1:0' "the port of tcp= must be a number from 1 to 65535 or a range P1-P2, not '0'"
refused 'alpha tcp=10.0.0.1' 'tcp= must be ADDR:PORT'
refused 'alpha tcp=10.0.0.1:7000 port=7001' 'tcp= already has a port'
refused 'local:1 tcp=127.0.0.1:7000' 'tcp= does not apply'

# A worker on another machine listens on a numeric address, and not where it has no TLS and nobody reaches it.
for name in alpha localhost 10.0.0 1.2.3.4.5; do
	refused "alpha tcp=$name:7000" "tcp= requires a numeric address of that machine, not the name '$name'"
done
for address in 127.0.0.1 127.1.2.3 '[::1]'; do
	refused "alpha tcp=$address:7000" "tcp=$address:7000: other workers cannot reach a loopback address"
done
