# The user's ssh settings that concern the way to a machine and the proof of the user (finding 28): keys of the agent
# under IdentitiesOnly, ProxyCommand.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"

machine alpha 10.77.0.11
machine beta 10.77.0.12
doctor() { "$DFG" doctor "$@"; }

# An agent with wrong keys before the right one, and a server that allows three attempts.
eval "$(ssh-agent)" >/dev/null
cp keys/user locked
ssh-keygen -q -p -N 'a phrase' -f locked
cp keys/user.pub public
for i in 1 2 3; do
	ssh-keygen -q -t ed25519 -N '' -f "wrong$i"
	ssh-add -q "wrong$i"
done
ssh-add -q keys/user
{ sed "s|/pid$|/strict_pid|" alpha/sshd_config && printf 'Port 2222\nMaxAuthTries 3\n'; } >strict_sshd_config
ip netns exec alpha /usr/sbin/sshd -D -e -f "$HERE/strict_sshd_config" 2>strict.log &
for _ in $(seq 500); do
	[ ! -s alpha/strict_pid ] || break
	sleep 0.02
done
printf 'Host strict\n\tHostName 10.77.0.11\n\tPort 2222\n' >>ssh_config
identity() { # FILE: with IdentitiesOnly
	sed "s|IdentityFile .*|IdentityFile $HERE/$1\n\tIdentitiesOnly yes|" ssh_config >identity_config
}
sed "s|IdentityFile .*|IdentityFile $HERE/public|" ssh_config >all_config
expect 77 'strict' doctor --ssh-config all_config strict # the server is told of the wrong keys first
for file in public locked keys/user; do
	identity $file
	expect 0 'strict' doctor --ssh-config identity_config strict
done
identity wrong2
expect 77 "refuses user 'root': tried the agent, $HERE/wrong2" doctor --ssh-config identity_config strict
identity nothing
expect 77 "refuses user 'root'" doctor --ssh-config identity_config strict
ssh-add -q -d keys/user
identity public
expect 77 "refuses user 'root'" doctor --ssh-config identity_config strict
identity keys/user
expect 0 'strict' doctor --ssh-config identity_config strict

# An agent that does not answer is not waited for without a limit; then the key files are tried.
kill -STOP "$SSH_AGENT_PID"
{ echo 'ConnectTimeout 1' && cat ssh_config; } >quick_config
expect 0 'strict' timeout 20 "$DFG" doctor --ssh-config quick_config strict
{ echo 'ConnectTimeout 1' && cat identity_config; } >quick_config
sed "s|IdentityFile .*|IdentityFile $HERE/public|" quick_config >public_config
expect 77 "refuses user 'root': tried the agent (no answer), $HERE/public" \
	timeout 20 "$DFG" doctor --ssh-config public_config strict
kill -CONT "$SSH_AGENT_PID"
eval "$(ssh-agent -k)" >/dev/null
expect 0 'strict' doctor --ssh-config identity_config strict

# An agent that answers nonsense has no keys.
cat >agent.py <<'.'
import socket, struct, sys
answers = [b"", b"\xff" * 4, b"\0\0\0\0", b"\0\0\0\1\x0c", struct.pack(">IBII", 9, 12, 1000, 0xffffffff),
    struct.pack(">IBII4s", 13, 12, 1, 4, b"abcd"), struct.pack(">IBII4sI", 17, 12, 3, 4, b"abcd", 0)]
server = socket.socket(socket.AF_UNIX)
server.bind("nonsense")
server.listen()
for answer in answers:
    agent = server.accept()[0]
    agent.recv(5)
    agent.sendall(answer)
    agent.close()
.
python3 agent.py &
for _ in $(seq 500); do
	[ ! -S nonsense ] || break
	sleep 0.02
done
{ echo 'IdentityAgent nonsense' && cat public_config; } >nonsense_config
for _ in 1 2 3 4 5 6 7; do
	expect 77 "refuses user 'root': tried the agent, $HERE/public" doctor --ssh-config nonsense_config strict
done

# ProxyCommand: its tokens, and its end with the run.
config() { # LINE...: alpha by these settings
	{ printf 'Host alpha\n' && printf '\t%s\n' "$@" && cat ssh_config; } >proxy_config
}
config "ProxyCommand echo %r %h %p %n 100%% >$HERE/told; exec ssh -F $HERE/ssh_config -W %h:%p beta # by way of \"beta\""
printf 'input x: f32[]\noutput y = x + 1.0\n' >add.dfg
expect 0 'y: f32[] 2' "$DFG" run --ssh-config proxy_config add.dfg --hosts alpha --feed x=1
[ "$(cat told)" = 'root 10.77.0.11 22 alpha 100%' ]
none_left 10
[ -z "$(pgrep -f 'W 10.77.0.11:22')" ]

# It ends during a run: that is the reason of the loss.
printf 'input x: f32[]\noutput y = Dfg>Sleep(x, ms = 20000)\n' >slow.dfg
"$DFG" run --ssh-config proxy_config slow.dfg --hosts alpha --feed x=1 >out 2>err &
pid=$!
for _ in $(seq 200); do
	[ "$(workers)" != 1 ] || break
	sleep 0.05
done
sleep 1
pkill -KILL -f 'W 10.77.0.11:22'
ends 69 'slow.dfg: alpha: the connection was lost: ProxyCommand ended by signal 9' 8
none_left 10

# It fails: its status and its last words are shown, at once.
SECONDS=0
config 'ProxyCommand echo first >&2; echo "no way to %h" >&2; exit 3'
expect 69 'alpha: ProxyCommand exited with status 3: no way to 10.77.0.11' run --ssh-config proxy_config add.dfg --hosts alpha --feed x=1
config 'ProxyCommand no-such-program %h'
expect 69 '-- ProxyCommand exited with status 127: ' doctor --ssh-config proxy_config alpha
grep -q no-such-program out
config 'ProxyCommand kill -9 $$'
expect 69 'ProxyCommand ended by signal 9' doctor --ssh-config proxy_config alpha
[ $SECONDS -lt 6 ]

# It says nothing, or too much; neither is waited for longer than allowed, and nothing of it is left.
config 'ConnectTimeout 1' 'ProxyCommand echo looking for %h >&2; trap "" HUP; sleep 7777'
expect 69 '-- 10.77.0.11 did not speak SSH within 1 s (ProxyCommand: looking for 10.77.0.11)' doctor --ssh-config proxy_config alpha
config "ProxyCommand yes >&2; exec ssh -F $HERE/ssh_config -W %h:%p beta"
expect 0 'alpha' doctor --ssh-config proxy_config alpha
[ -z "$(pgrep -x yes; pgrep -f 'sleep 7777'; pgrep -f 'W 10.77.0.11:22')" ]

# A host that is reached by a program cannot be asked by ssh-keyscan.
sed "s|known_hosts$|no_hosts|" proxy_config >strange_config
expect 77 'let ssh record it: ssh -F strange_config alpha true' doctor --ssh-config strange_config alpha

# A descriptor cannot be passed, and other tokens might hold anything.
config 'ProxyUseFdpass yes' 'ProxyCommand true'
expect 78 'proxy_config:2: ProxyUseFdpass is not supported' doctor --ssh-config proxy_config alpha
config 'ProxyCommand true %d'
expect 78 "proxy_config:2: '%d' is not supported" doctor --ssh-config proxy_config alpha

# Files that are pipes: each is read once, however often its bytes are needed; a FIFO may get its writer later.
known=$(sed -n 's/.*UserKnownHostsFile //p' ssh_config | head -1)
pipes() { # CONFIG: the same with descriptors 7 and 8 as files
	sed "s|UserKnownHostsFile .*|UserKnownHostsFile /dev/fd/7|; s|IdentityFile .*|IdentityFile /dev/fd/8|" "$1"
}
pipes ssh_config >pipe_config
expect 0 'beta' doctor --ssh-config pipe_config alpha beta 7< <(cat "$known") 8< <(cat keys/user)
expect 0 'beta' doctor --ssh-config <(pipes ssh_config) alpha beta 7< <(cat "$known") 8< <(cat keys/user)
pipes identity_config >pipe_config
expect 0 'strict' doctor --ssh-config pipe_config strict 7< <(cat "$known") 8< <(cat keys/user)
expect 77 'the host key of 10.77.0.11 is not known' doctor --ssh-config pipe_config alpha 7< <(true) 8< <(cat keys/user)
mkfifo fifo
sed "s|UserKnownHostsFile .*|UserKnownHostsFile $HERE/fifo|" ssh_config >fifo_config
{ sleep 1 && cat "$known" >fifo; } &
expect 0 'alpha' doctor --ssh-config fifo_config alpha
