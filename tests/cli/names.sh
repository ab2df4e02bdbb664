# A name in a list of hosts, a plan or a graph is a name: never an option of ssh, a piece of shell, a program, or a path
# that leads elsewhere. One odd thing a line.
. "$ROOT/tests/cli/kit"

printf 'input x: f32[]\ny = x * 2.0\noutput z = y + 1.0\n' >add.dfg
untouched() {
	[ ! -e touched ] || { echo "a name was run: $*"; exit 1; }
}

while IFS= read -r name; do
	status 2 "$DFG" run add.dfg --hosts "$name,local:1" --feed x=1
	has err "is not a valid host"
	status 2 "$DFG" doctor -- "$name"
	has err "is not a valid host"
	printf 'local:1\n%s\n' "$name" >hosts
	status 78 "$DFG" run add.dfg --hosts ./hosts --feed x=1
	has err './hosts:2: '
	untouched "$name"
done <<'END'
-oProxyCommand=touch${IFS}touched
-F.
a;b
a&b
a|touch
a$(touch)
a`touch`
"a"
a\b
a*
a~b
ä
me@alpha
[::1
END

while IFS= read -r option; do
	printf 'local:1\nalpha %s\n' "$option" >hosts
	status 78 "$DFG" run add.dfg --hosts ./hosts --feed x=1
	has err './hosts:2: '
	untouched "$option"
done <<'END'
ssh=-oProxyCommand=touch@alpha
ssh=-lroot@alpha
ssh=me;touch@alpha
ssh=$(touch)@alpha
ssh=me@-oProxyCommand=touch
ssh=me@a;touch
ssh=me@alpha:22;touch
ssh=me@alpha:0
ssh=me@[::1
ssh=a/b@alpha
addr=-v
addr=a/b
addr=1.2.3.4:5;touch
dfg=-c
dfg=
slots=1;touch
job=../worker
ProxyCommand=touch
ssh=me@alpha ssh=you@alpha
END

# A plan's files are those of its folder, and no others.
"$DFG" partition add.dfg --hosts local:2 --place x=w0 --place y=w1 --place z=w0 -o plan
manifest() { # WAS IS
	rm -rf odd
	cp -r plan odd
	sed "s|$1|$2|" plan/manifest.json >odd/manifest.json
	status 1 cmp plan/manifest.json odd/manifest.json
	status 65 "$DFG" run odd --hosts local:2 --feed x=1
	has err 'odd/manifest.json: '
	untouched "$2"
}
for file in ../plan/w0.pb ./w0.pb /etc/passwd w1.pb w0.pb/ '-oProxyCommand' 'w0.pb;touch' '' 'w0.pb\\u0000' '~/w0.pb'; do
	manifest '"w0.pb"' "\"$file\""
done
for device in '/job:worker;touch' '-oProxyCommand=touch' '/job:$(touch)/task:0/device:CPU:0' '../w0' 'alpha dfg=touch'; do
	manifest '"/job:worker/task:0/device:CPU:0"' "\"$device\""
done
for way in 'ln -s ../plan/w0.pb' 'ln plan/w0.pb' 'mkfifo' 'mkdir'; do
	rm -rf odd
	cp -r plan odd
	rm odd/w0.pb
	$way odd/w0.pb
	status 65 timeout 20 "$DFG" run odd --hosts local:2 --feed x=1
	has err 'odd/w0.pb: '
done

# A graph's devices are those of the list.
"$DFG" build add.dfg -o add.pb
"$DFG" convert add.pb -o add.pbtxt
while IFS= read -r device; do
	sed "s|op: \"Mul\"|op: \"Mul\" device: \"$device\"|" add.pbtxt >odd.pbtxt
	grep -q device odd.pbtxt
	status 65 "$DFG" run odd.pbtxt --hosts local:2 --feed x=1
	has err "no device '"
	status 2 "$DFG" run add.dfg --hosts local:2 --place "y=" --feed x=1
	status 65 "$DFG" run add.dfg --hosts local:2 --place "y=$device" --feed x=1
	untouched "$device"
done <<'END'
/job:worker;touch/task:0/device:CPU:0
/job:$(touch)/task:0/device:CPU:0
/job:../../etc/task:0/device:CPU:0
/job:worker/task:0/device:CPU:0/../x
-oProxyCommand=touch
alpha
w0;touch
END
