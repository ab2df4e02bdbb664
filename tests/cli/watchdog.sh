# Finding 32: a worker that is stopped (SIGSTOP) ends with its stdin all the same, whoever could not send it a signal.
. "$ROOT/tests/cli/kit"
dogs() { # PID: the processes that it has started
	cat "/proc/$1"/task/*/children
}

stopped() { # PID: every thread of it; the signal takes its time
	! grep -h '^State:' "/proc/$1"/task/*/status | grep -qv 'T (stopped)'
}

# A worker by itself, stopped; its stdin ends.
worker
has hello '"dfg":'
dog=$(dogs $worker)
[ "$(echo $dog | wc -w)" = 1 ]
tr '\0' ' ' <"/proc/${dog% }/cmdline" >title
has title "dfg: watchdog of $worker"
kill -STOP $worker
within stopped $worker
exec 3>&-
got=0
wait $worker || got=$?
[ $got = 137 ]
within gone "${dog% }"

# A worker that runs ends by itself, at once, and its watchdog with it.
worker
dog=$(dogs $worker)
exec 3>&-
wait $worker
within gone "${dog% }"

# The launcher is killed while a worker is stopped.
printf 'input x: f64[n]\ny = Dfg>Sleep(x, ms = 100000)\noutput z = y + 1.0\n' >slow.dfg
"$DFG" run slow.dfg --hosts local:2 --feed x=f64[1]:1 --place x=w0 --place y=w1 --place z=w0 >out 2>err &
launcher=$!
two_workers() {
	workers=$(dogs $launcher)
	[ "$(echo $workers | wc -w)" = 2 ]
}
within two_workers
sleep 0.5
# shellcheck disable=SC2086
kill -STOP $workers
for worker in $workers; do
	within stopped "$worker"
done
kill -KILL $launcher
wait $launcher || true
for worker in $workers; do
	within gone "$worker"
done
