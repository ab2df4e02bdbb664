# A FIFO among the files of ssh is not waited for without a limit.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"

machine alpha 10.77.0.11
mkfifo fifo
sed "s|UserKnownHostsFile .*|UserKnownHostsFile $HERE/fifo|" ssh_config >fifo_config
sed "s|IdentityFile .*|IdentityFile $HERE/fifo|" ssh_config >fifo_key_config
SECONDS=0
"$DFG" doctor --ssh-config fifo alpha >config.out 2>&1 &
first=$!
"$DFG" doctor --ssh-config fifo_config alpha >known.out 2>&1 &
second=$!
"$DFG" doctor --ssh-config fifo_key_config alpha >key.out 2>&1 &
third=$!
sleep 30 >fifo & # a writer that does not end
writer=$!
for pid in $first $second $third; do
	if wait "$pid"; then exit 1; fi
done
kill $writer
[ $SECONDS -lt 25 ]
grep 'fifo: is a pipe, and its end did not arrive within 10 s' config.out known.out key.out
