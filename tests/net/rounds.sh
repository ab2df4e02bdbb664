# Training over two machines to which something happens at some moment ends with the same bits, whatever and whenever it
# is, and leaves no process or file. ROUNDS of them (3), drawn from SEED.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"
# shellcheck source=tests/net/training
. "$ROOT/tests/net/training"
RANDOM=${SEED:-1}

machine alpha 10.77.0.11
machine beta 10.77.0.12
make_training 300

milliseconds() {
	date +%s%3N
}
sleep_ms() {
	sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"
}
worker() { # NUMBER
	pgrep -f "[s]erve --worker --number $1 " || true
}
began=$(milliseconds)
expect 0 '' train alpha,beta --checkpoint calm --every 10 --save w.safetensors
whole=$(($(milliseconds) - began))
cmp w.safetensors whole.safetensors

# The faults; each that lasts is repaired afterwards.
fault_kill() {
	# shellcheck disable=SC2046
	kill -KILL $(worker $((RANDOM % 2))) 2>/dev/null || true
}
fault_stop() {
	stopped=$(worker $((RANDOM % 2)))
	# shellcheck disable=SC2086
	kill -STOP $stopped 2>/dev/null || true
	sleep 4
	# shellcheck disable=SC2086
	kill -CONT $stopped 2>/dev/null || true
}
fault_cut() {
	ip link set to-beta down
	sleep 4
	ip link set to-beta up
}
fault_hole() {
	ip netns exec alpha ip route add blackhole 10.77.0.12/32
	sleep 4
	ip netns exec alpha ip route del blackhole 10.77.0.12/32
}
fault_hang_up() {
	hang_up beta || true
}
fault_flap() {
	ip link set to-alpha down
	sleep 0.3
	ip link set to-alpha up
}
fault_launcher() {
	kill -KILL "$pid" 2>/dev/null || true
}
fault_term() {
	kill -TERM "$pid" 2>/dev/null || true
}

again=0
round() { # FAULT
	local moment=$((RANDOM % whole)) every=$((RANDOM % 2 ? 1 : 30)) got=0
	rm -rf ck w.safetensors
	how=exec train alpha,beta --checkpoint ck --every $every --restarts 5 --save w.safetensors >out 2>err &
	pid=$!
	sleep_ms $moment
	"fault_$1"
	wait "$pid" || got=$?
	case $1-$got in
	launcher-137 | term-75 | term-143)
		again=$((again + 1))
		train alpha,beta --checkpoint ck --every $every --resume --save w.safetensors >out 2>err
		;;
	*-0) ! grep -q 'restarting' err || again=$((again + 1)) ;;
	*) false ;;
	esac || {
		echo "$1 after $moment of $whole ms, a checkpoint every $every: status $got"
		cat err
		return 1
	}
	cmp w.safetensors whole.safetensors
	only_whole ck
	nothing_left alpha beta
}

faults=(kill launcher hang_up stop term cut hole flap)
for ((i = 0; i < ${ROUNDS:-3}; i++)); do
	round "${faults[i % ${#faults[@]}]}"
done
# Too many that came too late would have proved nothing.
[ $((again * 4)) -ge "${ROUNDS:-3}" ] || { echo "only $again of ${ROUNDS:-3} hit"; exit 1; }
