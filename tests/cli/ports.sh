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
refused 'local:3 port=7000-7001' 'port=7000-7001 has 2 ports for 3 workers'
refused 'alpha slots=2 tcp=10.0.0.1:7000' 'has 1 ports for 2 workers'
refused 'alpha port=7001-7000' 'is an empty range'
refused 'alpha port=0' 'port= must be a number from 1 to 65535'
refused 'alpha port=70000' 'port= must be a number from 1 to 65535'
refused 'alpha port=7000-' 'port= must be a number'
refused 'alpha tcp=10.0.0.1' 'tcp= must be ADDR:PORT'
refused 'alpha tcp=10.0.0.1:7000 port=7001' 'tcp= already has a port'
refused 'local:1 tcp=127.0.0.1:7000' 'tcp= does not apply'
