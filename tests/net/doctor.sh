# dfg doctor on other machines: what it finds there, and each way in which a machine cannot be used.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"
doctor() { "$DFG" doctor --ssh-config ssh_config "$@"; }

machine alpha 10.77.0.11
machine beta 10.77.0.12
beyond alpha gamma 10.78.0
beyond gamma delta 10.79.0
printf 'Host listed\n\tHostName 10.79.0.2\n\tProxyJump root@alpha:22,gamma\n' >>ssh_config

# Two machines that are reached directly, one that is reached through another, and one through that one.
expect 0 'dfg ' doctor alpha beta gamma delta listed
for name in alpha beta gamma delta listed; do
	grep -q "^$name  *dfg $("$DFG" version | sed 's/^dfg //; s/ .*//; 1q'), .*clock [-+]" out
done
expect 0 '"alpha":{"wrong":null' doctor --json alpha
printf 'alpha slots=2\nlocal:1\n' >hosts
expect 0 'w2               this machine' doctor --hosts ./hosts
[ "$(wc -l <out)" = 2 ]
expect 65 "did you mean 'alpha'?" doctor --hosts ./hosts alpa

# A key that is not known, and the command that mends it; the config may say that new ones are believed.
sed '/^10.77.0.12 /d' known_hosts >fewer
sed "s/known_hosts$/fewer/" ssh_config >fewer_config
print=$(ssh-keygen -l -f beta/key.pub | cut -d' ' -f2)
expect 77 "beta             -- the host key of 10.77.0.12 is not known: ssh-ed25519 $print" "$DFG" doctor --ssh-config fewer_config beta
grep -o 'ssh-keyscan .*' out >mend
sh mend 2>/dev/null
expect 0 'beta' "$DFG" doctor --ssh-config fewer_config beta
sed -i '/^10.77.0.12 /d' fewer
expect 77 'not known' "$DFG" doctor --ssh-config fewer_config beta
{ echo 'StrictHostKeyChecking accept-new' && cat fewer_config; } >new_config
expect 0 'beta' "$DFG" doctor --ssh-config new_config beta
grep -q '^10.77.0.12 ssh-ed25519 ' fewer
{ echo 'StrictHostKeyChecking no' && cat fewer_config; } >no_config
sed -i '/^10.77.0.12 /d' fewer
expect 77 'not known' "$DFG" doctor --ssh-config no_config beta

# A hashed file, and a key that is written down without the port.
ssh-keyscan -H 10.77.0.12 >hashed 2>/dev/null
sed "s/known_hosts$/hashed/" ssh_config >hashed_config
expect 0 'beta' "$DFG" doctor --ssh-config hashed_config beta

# Another key than the known one, whatever the config says; the jump host's is checked as well.
sed "s|^10.77.0.11 .*|10.77.0.11 $(cut -d' ' -f1,2 beta/key.pub)|" known_hosts >changed
sed "s/known_hosts$/changed/" ssh_config >changed_config
expect 77 '-- the host key of 10.77.0.11 has changed: it is ssh-ed25519 SHA256:' \
	"$DFG" doctor --ssh-config changed_config alpha
grep -q "not the one in $HERE/changed:1.*ssh-keygen -f $HERE/changed -R '10.77.0.11'" out
{ echo 'StrictHostKeyChecking accept-new' && cat changed_config; } >new_config
expect 77 'has changed' "$DFG" doctor --ssh-config new_config alpha
expect 77 '-- by way of alpha: the host key of 10.77.0.11 has changed' \
	"$DFG" doctor --ssh-config changed_config gamma
echo "@revoked 10.77.0.11 $(cut -d' ' -f1,2 alpha/key.pub)" | cat known_hosts - >changed
expect 77 '-- the host key of 10.77.0.11 is revoked' "$DFG" doctor --ssh-config changed_config alpha

# Keys of the user: another one, one that needs a passphrase, one that an agent has.
ssh-keygen -q -t ed25519 -N '' -f other
sed "s|keys/user|other|" ssh_config >other_config
expect 77 "-- 10.77.0.11 refuses user 'root': tried $HERE/other" "$DFG" doctor --ssh-config other_config alpha
cp keys/user locked
ssh-keygen -q -p -N 'a phrase' -f locked
sed "s|keys/user|locked|" ssh_config >locked_config
expect 77 'locked (is not a key, or has a passphrase' "$DFG" doctor --ssh-config locked_config alpha
eval "$(ssh-agent)" >/dev/null
ssh-add -q keys/user
expect 0 'alpha' "$DFG" doctor --ssh-config other_config alpha
unset SSH_AUTH_SOCK

# Nobody listens; nobody is there; it hears and does not speak; no address; each named, none waited for longer than said.
ip neigh add 10.77.0.99 lladdr 02:00:00:00:00:99 dev hub nud permanent
machine dumb 10.77.0.13
kill -STOP "$(cat dumb/pid)"
ip netns exec alpha ip neigh add 10.78.0.99 lladdr 02:00:00:00:00:99 dev to-gamma nud permanent
cat >>ssh_config <<.
Host refusing
	HostName 10.77.0.11
	Port 23
Host hole
	HostName 10.77.0.99
Host behind-hole
	HostName 10.78.0.99
	ProxyJump alpha
Host nowhere
	HostName no-such-name.invalid
Host jumping
	ProxyJump refusing
.
{ echo 'ConnectTimeout 1' && cat ssh_config; } >quick_config
SECONDS=0
expect 69 'hole' "$DFG" doctor --ssh-config quick_config refusing hole behind-hole dumb nowhere jumping
[ $SECONDS -lt 8 ]
grep -q '^refusing  *-- cannot connect to 10.77.0.11 port 23: Connection refused$' out
grep -q '^hole  *-- 10.77.0.99 port 22 did not answer within 1 s$' out
grep -q '^behind-hole  *-- by way of alpha: 10.77.0.11 did not open a connection to 10.78.0.99 port 22 within 1 s$' out
grep -q '^dumb  *-- 10.77.0.13 did not speak SSH within 1 s$' out
grep -q "^nowhere  *-- cannot find the address of 'no-such-name.invalid': " out
grep -q '^jumping  *-- by way of refusing: cannot connect to 10.77.0.11 port 23: Connection refused$' out
kill -CONT "$(cat dumb/pid)"

# dfg is not there, or is another.
rm beta/bin/dfg
expect 69 "-- no dfg there: 'dfg' is not found" doctor beta
printf '#!/bin/sh\necho \x27{"dfg":{"value":"0.0.1"}}\x27\n' >beta/bin/dfg
chmod +x beta/bin/dfg
expect 69 '-- dfg has version 0.0.1 there' doctor beta
cat >beta/bin/dfg <<END
#!/bin/sh
cat <<'.'
{"dfg":{"value":"$("$DFG" version | sed 's/^dfg //; s/ .*//; 1q')"},
"processor":{"value":"\\u001b[31mred"}}
.
END
expect 0 'beta             dfg ' doctor beta
grep -q ', \\x1b\[31mred, unknown threads, unknown memory, unknown clock$' out
doctor --json beta | python3 -m json.tool >out
printf '#!/bin/sh\nkill -9 $$\n' >beta/bin/dfg
expect 69 '-- dfg was ended by signal KILL' doctor beta
printf '#!/bin/sh\necho one; echo two >&2; exit 9\n' >beta/bin/dfg
expect 69 '-- dfg ended with status 9: two' doctor beta

# dfg= is a path, and no more than that.
echo "beta dfg=$HERE/beta/it's;touch\$(id)" >hosts
ln -s "$DFG" "beta/it's;touch\$(id)"
expect 0 'beta' doctor --hosts ./hosts
printf 'beta dfg=~/dfg-of-mine\n' >hosts
expect 69 "-- no dfg there: '~/dfg-of-mine' is not found" doctor --hosts ./hosts
