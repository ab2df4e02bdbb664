# dfg run on other machines: the same results as here, and what happens when one of them is lost.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"
run() { "$DFG" run --ssh-config ssh_config "$@"; }

machine alpha 10.77.0.11
machine beta 10.77.0.12

cat >chain.dfg <<'END'
input x: f64[n]
y = x * 2.0
z = y + 1.0
output out = sqrt(z)
END
place="--place x=w0 --place y=w1 --place z=w0 --place out=w1"
"$DFG" run chain.dfg --feed x=f64[3]:1,2,3 >want
# shellcheck disable=SC2086
for hosts in alpha,beta beta,alpha alpha,local:1 local:1,beta alpha,beta,local:2; do
	status 0 run chain.dfg --feed x=f64[3]:1,2,3 --hosts $hosts $place
	cmp want out
done

# Two workers of one machine meet in its memory.
printf 'alpha slots=2\n' >hosts
# shellcheck disable=SC2086
status 0 run chain.dfg --feed x=f64[3]:1,2,3 --hosts ./hosts $place -v
cmp want out
grep -q 'w0 and w1: shm' err
grep -q 'launcher and w0: libcurl' err

# Finding 30: where they listen for tensors is said.
printf 'alpha port=7100-7101\nbeta tcp=10.77.0.12:7200\n' >hosts
printf 'input x: f64[n]\ny = Dfg>Sleep(x, ms = 1500)\noutput z = y * 2.0\n' >wait.dfg
run wait.dfg --feed x=f64[1]:1 --hosts ./hosts --place y=w0 --place z=w1 >got &
pid=$!
for _ in $(seq 100); do
	ip netns exec beta ss -Htln | grep -q '10.77.0.12:7200 ' && ip netns exec alpha ss -Htln | grep -q ':7100 ' && break
	sleep 0.02
done
ip netns exec alpha ss -Htln | grep -q '0.0.0.0:7100 '
ip netns exec beta ss -Htln | grep -q '10.77.0.12:7200 '
wait $pid
grep -q '^z: f64\[1\]' got

# A run that will not end by itself, and how it does.
cat >slow.dfg <<'END'
input x: f64[n]
y = Dfg>Sleep(x, ms = 100000)
output z = y + 1.0
END
workers() { # how many
	pgrep -f 'serve --worker' | wc -l
}
begin() { # HOSTS
	"$DFG" run --ssh-config ssh_config slow.dfg --feed x=f64[1]:1 --place x=w0 --place y=w1 --place z=w0 --hosts "$1" >out 2>err &
	pid=$!
	for _ in $(seq 200); do
		[ "$(workers)" = 2 ] && break
		sleep 0.05
	done
	sleep 1
}
nobody() {
	for _ in $(seq 200); do
		[ "$(workers)" = 0 ] && return
		sleep 0.05
	done
	echo 'workers are left:'
	pgrep -af 'serve --worker'
	exit 1
}
fails() { # STATUS WORDS
	local began got=0 took
	began=$(date +%s%3N)
	wait "$pid" || got=$?
	took=$(($(date +%s%3N) - began))
	[ "$got" = "$1" ] && grep -qF -- "$2" err || { echo "status $got, not $1 with '$2':"; cat err; exit 1; }
	[ "$took" -lt 6000 ] || { echo "it took $took ms"; exit 1; } # half of it to make sure that no process is left
	[ ! -s out ]
	nobody
}

# The secret is in no argument and no variable.
begin alpha,beta
for worker in $(pgrep -f 'serve --worker'); do
	tr '\0' '\n' <"/proc/$worker/environ" >words
	tr '\0' '\n' <"/proc/$worker/cmdline" >>words
	never grep -qE '[0-9a-f]{64}' words
done
kill -KILL "$(pgrep -f 'serve --worker --number 1')"
fails 69 'beta: '

# The wire of a machine is cut.
begin alpha,beta
ip link set to-beta down
fails 69 'beta: '
reconnect beta 10.77.0.11

# The launcher is killed: no process is left.
begin alpha,beta
kill -KILL $pid || { cat err; exit 1; }
wait $pid || true
nobody

# There is no dfg.
mv alpha/bin/dfg alpha/bin/other
status 69 run chain.dfg --feed x=f64[1]:1 --hosts alpha,beta
grep -q 'alpha: .*no dfg' err
nobody
