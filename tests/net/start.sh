# Why a worker does not start, one reason each: it is said, with the machine's name, and whoever has started by then is
# ended.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"

machine alpha 10.77.0.11
machine beta 10.77.0.12
printf 'input x: f32[]\noutput y = x + 1.0\n' >add.dfg
fails() { # STATUS WORDS [HOSTS [CONFIG]]
	expect "$1" "$2" timeout 60 "$DFG" run --ssh-config "${4:-ssh_config}" add.dfg --hosts "${3:-alpha,beta}" --feed x=1
	nothing_left alpha beta
}

# ssh says no.
sed '/^10.77.0.12 /d' known_hosts >fewer
sed "s/known_hosts$/fewer/" ssh_config >fewer_config
fails 77 'beta: the host key of 10.77.0.12 is not known' alpha,beta fewer_config
grep -q 'ssh-keyscan' out
sed "s|^10.77.0.12 .*|10.77.0.12 $(cut -d' ' -f1,2 alpha/key.pub)|" known_hosts >fewer
fails 77 'beta: the host key of 10.77.0.12 has changed' alpha,beta fewer_config
ssh-keygen -q -t ed25519 -N '' -f other
sed "s|keys/user|other|" ssh_config >other_config
fails 77 "alpha: 10.77.0.11 refuses user 'root'" alpha,local:1 other_config
printf 'Host refusing\n\tHostName 10.77.0.12\n\tPort 23\n' >>ssh_config
fails 69 'refusing: cannot connect to 10.77.0.12 port 23: Connection refused' alpha,refusing
ip neigh add 10.77.0.99 lladdr 02:00:00:00:00:99 dev hub nud permanent
printf 'Host hole\n\tHostName 10.77.0.99\n\tConnectTimeout 1\n' >>ssh_config
fails 69 'hole: 10.77.0.99 port 22 did not answer within 1 s' alpha,hole

# All ports are taken there.
ip netns exec beta sh -c 'echo 7001 7002 >/proc/sys/net/ipv4/ip_local_port_range'
ip netns exec beta python3 -c '
import signal, socket
taken = [socket.create_server(("0.0.0.0", port)) for port in (7001, 7002)]
open("taken", "w").close()
signal.pause()' &
taker=$!
for _ in $(seq 100); do
	[ ! -e taken ] || break
	sleep 0.1
done
expect 69 'beta: dfg ended with status 69: ' run add.dfg --hosts alpha,beta --feed x=1
grep -q 'cannot listen on 0.0.0.0: Address already in use' out
kill $taker
wait $taker || true
ip netns exec beta sh -c 'echo 32768 60999 >/proc/sys/net/ipv4/ip_local_port_range'
nothing_left alpha beta

# Another dfg is there: both versions are named.
mv beta/bin/dfg beta/bin/this
there() { # SCRIPT: runs in place of dfg on beta
	printf '#!/bin/sh\n%s\n' "$1" >beta/bin/dfg
	chmod +x beta/bin/dfg
}
there 'echo "{\"dfg\":\"0.0.1\",\"address\":\"0.0.0.0:1\",\"fingerprint\":\"sha256:00\",\"shm\":\"\"}"; exec cat >/dev/null'
fails 76 "beta: runs dfg 0.0.1, but this is dfg $("$DFG" version | sed 's/^dfg //; s/ .*//; 1q')"

# Something else is there, that says too much, or too little, or nothing sensible.
there 'yes | head -c 3000000'
fails 76 "beta: printed 'y', expected the first line of a dfg worker"
there 'exit 0'
fails 69 'beta: dfg ended with status 0'
there 'echo "{\"dfg\":"'
fails 76 "beta: printed '{\\\"dfg\\\":', expected the first line of a dfg worker"

# Finding 33: what a login shell prints is shown.
there 'echo "Welcome to beta!"; exec cat >/dev/null'
fails 76 "beta: printed 'Welcome to beta!', expected the first line of a dfg worker"
there 'exec cat'
fails 76 'beta: printed the secret that it was sent, expected the first line of a dfg worker'
never grep -qE '[0-9a-f]{64}' out

# Only its first line is shown: others may repeat the secret, or have no end.
there 'echo "Welcome to beta!"; exec cat'
fails 76 "beta: printed 'Welcome to beta!', expected the first line of a dfg worker"
never grep -qE '[0-9a-f]{64}' out
there 'echo "Welcome to beta!"; yes | head -c 3000000'
fails 76 "beta: printed 'Welcome to beta!', expected the first line of a dfg worker"
[ "$(wc -l <out)" = 1 ]

# It was told another secret than the others: that is refused, and told to nobody.
# shellcheck disable=SC2016
there '{ read -r secret; printf %064d 0; echo; exec cat; } | '"$HERE"'/beta/bin/this "$@"'
fails 77 'beta: '
never grep -qE '[0-9a-f]{64}' out

# Nor does it start if its file is not a program.
printf 'no program\n' >beta/bin/dfg
fails 69 'beta: '

# Nor where it is built for another processor, which shells say in different words or not at all (finding 33).
there 'exit 0'
foreign() { # FILE
	rm -f "$1"
	cp "$DFG" "$1"
	printf '\267\000' | dd of="$1" bs=1 seek=18 conv=notrunc 2>dd.log # aarch64
}
host=$(uname -m)
if [ "$host" != aarch64 ]; then
	foreign beta/bin/dfg
	for shell in /bin/sh /bin/bash; do
		sed "s|^root:.*|root:x:0:0::$HERE/there:$shell|" passwd >other_passwd
		cat other_passwd >passwd
		fails 69 "beta: $HERE/beta/bin/dfg: built for aarch64, but the host is $host"
	done
	foreign local_dfg
	echo "local:1 dfg=$HERE/local_dfg" >local_hosts
	fails 69 "w0: $HERE/local_dfg: built for aarch64, but the host is $host" ./local_hosts
	# The host says that it is another one than this program is built for.
	printf '#!/bin/sh\necho aarch64\n' >beta/bin/uname
	printf '#!/bin/sh\nexit 126\n' >beta/bin/chmod
	chmod +x beta/bin/uname beta/bin/chmod
	expect 69 "beta: this program (--push): built for $host, but the host is aarch64" \
		run --push add.dfg --hosts beta --feed x=1
	rm beta/bin/uname beta/bin/chmod
fi

# Nor where what runs it is missing.
rm beta/bin/dfg
printf '#!/no/such/program\n' >beta/bin/dfg
chmod +x beta/bin/dfg
fails 69 "beta: $HERE/beta/bin/dfg cannot be run there: "
mv beta/bin/this beta/bin/dfg
expect 0 'y: f32[] 2' run add.dfg --hosts alpha,beta --feed x=1
