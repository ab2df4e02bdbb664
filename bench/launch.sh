# Workers on four machines, from nothing to the result of the first step, and `ssh HOST true` on the four at once.
[ "$(id -u)" = 0 ] && command -v ip >/dev/null && [ -x /usr/sbin/sshd ] || exit 0
ROOT=${ROOT:-$PWD}
DFG=$(realpath "${DFG:-build/dfg}")
CASE=$ROOT/bench/launch.sh
export ROOT DFG CASE
[ -n "${DFG_RIG-}" ] || cd "$(mktemp -d "$SCRATCH/launch.XXXXXX")" || exit 1
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"
ms() { # COMMAND...: milliseconds that it takes, the least of 5
	for _ in 1 2 3 4 5; do
		local start
		start=$(date +%s%N)
		"$@" >/dev/null 2>log || { cat log >&2; exit 1; }
		echo $((($(date +%s%N) - start) / 1000))
	done | sort -n | awk 'NR == 1 {print $1 / 1000}'
}
ssh_all() {
	local job jobs=
	for host in alpha beta gamma delta; do
		ssh -F ssh_config $host true &
		jobs="$jobs $!"
	done
	for job in $jobs; do
		wait "$job"
	done
}
at=11
for host in alpha beta gamma delta; do
	machine $host 10.77.0.$at
	at=$((at + 1))
done
cat >tiny.dfg <<'.'
input x: f32
a = x * 2.0
b = a + 1.0
c = sqrt(b)
output d = c - 1.0
.
"$DFG" build tiny.dfg -o tiny.pb
printf 'launch of 4 ssh hosts\t%s\n' "$(ms run tiny.pb --feed x=4 --hosts alpha,beta,gamma,delta --place a=w0 --place b=w1 --place c=w2 --place d=w3)"
printf 'launch of 4 ssh hosts\t%s\tssh\n' "$(ms ssh_all)"
