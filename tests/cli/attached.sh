# Workers that someone else starts: the launcher and they have a secret file, of which the keys of all are made.
. "$ROOT/tests/cli/kit"
printf 'input x: f32[n]\nparam w: f32[] = zeros\noutput loss = mean((w - x) ** 2)\n' >m.dfg
"$DFG" grad m.dfg --loss loss --optimizer 'adam(lr=0.125)' -o t.pb
"$DFG" run m.dfg --feed "x=f32[24]:$(seq -s, 0.25 1 23.25)" --fetch x -o x.npy
(umask 077; seq -s- 100 130 >secret; seq -s- 200 230 >other)
start() { # NAME OPTIONS...: a worker, and its port in $port once it listens
	name=$1
	shift
	rm -f "$name"
	"$DFG" serve --worker --secret-file secret "$@" </dev/null >"$name" 2>"$name.err" &
	eval "$name=$!"
	within test -s "$name"
	port=$(sed 's/.*"address":"[^"]*:\([0-9]*\)".*/\1/' "$name")
}
train() { # OPTIONS...
	timeout 100 "$DFG" run t.pb --data x=@x.npy --batch 8 --target train --fetch loss --metrics m.jsonl --save w.npz "$@"
}
pair() { # two workers, and the file of hosts
	start w0 --number 0 --port 0
	first=$port
	start w1 --number 1 --port 0
	printf 'alpha tcp=127.0.0.1:%s\nbeta tcp=localhost:%s\n' "$first" "$port" >hosts
}
ended() { # NAME STATUS: the worker ends so
	got=0
	wait "$(eval echo "\$$1")" || got=$?
	[ "$got" = "$2" ] || { echo "$1 ended with status $got, not $2"; cat "$1.err"; exit 1; }
}

# The bits of one process; nothing tells the secret.
status 0 train --shards 2
mv m.jsonl one.jsonl
mv w.npz one.npz
pair
status 0 train --hosts ./hosts --secret-file secret --replicas 2 -v -v
cmp m.jsonl one.jsonl
cmp w.npz one.npz
ended w0 0
ended w1 0
has err 'w0 and w1: libcurl'
never grep -qF "$(cat secret)" out err w0 w1 w0.err w1.err

# Some are started by the launcher, with the same secret.
start w0 --number 1 --port 0
printf 'local:1\nbeta tcp=127.0.0.1:%s\n' "$port" >hosts
if hostname -I 2>/dev/null | grep -q '[0-9]'; then # workers here have an address that another machine could reach
	sed -i "s/127.0.0.1/$(hostname -I | awk '{print $1}')/" hosts
	kill "$w0"
	wait "$w0" || true
	start w0 --number 1 --host 0.0.0.0 --port "$port"
	status 0 train --hosts ./hosts --secret-file secret --replicas 2
	cmp w.npz one.npz
	ended w0 0
else
	kill "$w0"
fi

# A parameter server, whose lanes listen at consecutive ports.
first=$((21000 + $$ % 20000))
start w0 --number 0 --port 0
printf 'alpha tcp=127.0.0.1:%s\n' "$port" >hosts
start w1 --number 2 --port 0
printf 'beta tcp=127.0.0.1:%s\n' "$port" >>hosts
lanes=0
for port in $(seq "$first" 7 "$((first + 700))"); do # of which two are free
	rm -f w2
	"$DFG" serve --worker --secret-file secret --number 1 --lanes 2 --stride 2 --port "$port" </dev/null >w2 2>w2.err &
	w2=$!
	within eval '[ -s w2 ] || gone $w2'
	[ ! -s w2 ] || { lanes=2; break; }
done
[ $lanes = 2 ]
printf 'gamma job=ps tcp=127.0.0.1:%s\n' "$port" >>hosts
status 0 train --hosts ./hosts --secret-file secret --sync ps
cmp w.npz one.npz
for name in w0 w1 w2; do
	ended $name 0
done

# One that starts after the launcher is waited for; one that never does is named, with what must run there.
start w0 --number 0 --port 0
printf 'alpha tcp=127.0.0.1:%s\n' "$port" >hosts
start w1 --number 1 --port 0
kill "$w1"
wait "$w1" || true
printf 'beta tcp=127.0.0.1:%s\n' "$port" >>hosts
train --hosts ./hosts --secret-file secret --replicas 2 -v >out 2>err &
run=$!
within grep -q 'w0 (alpha): connecting' err
never grep -q 'linking' err
start w1 --number 1 --port "$port"
wait $run || { cat err; exit 1; }
cmp w.npz one.npz
ended w0 0
ended w1 0
status 124 train --hosts ./hosts --secret-file secret --replicas 2 --timeout 0.5
has err "alpha: nothing listens at 127.0.0.1:"
has err " (Connection refused): is \`dfg serve --worker --secret-file FILE --number 0 --port "

# Another secret, or another worker's number: refused before the launcher says anything, and the workers wait on.
pair
status 77 train --hosts ./hosts --secret-file other --replicas 2
has err 'the worker at'
has err 'has another secret or another number'
has err "\`dfg serve --worker --secret-file FILE --number"
never gone "$w0"
never gone "$w1"
printf 'alpha tcp=127.0.0.1:%s\nbeta tcp=127.0.0.1:%s\n' "$port" "$first" >swapped
status 77 train --hosts ./swapped --secret-file secret --replicas 2
has err 'has another secret or another number'

# Noise at the port of a worker, in place of a worker, and whoever has the secret but no TLS.
cat >say.py <<'X'
# Sends a file to PORT, and waits until the other end hangs up.
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20) as peer:
    try:
        peer.sendall(open(sys.argv[2], "rb").read())
        while peer.recv(65536):
            pass
    except (ConnectionResetError, BrokenPipeError):
        pass
X
for noise in 'GET / HTTP/1.1\r\n\r\n' 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' '\x16\x03\x01\x00\x04oops' 'noise\n'; do
	# shellcheck disable=SC2059
	printf "$noise" >noise
	python3 say.py "$first" noise
done
never gone "$w0"
cat >relay.py <<'X'
# Answers with noise (a file), or connects those who come to PORT, and keeps what they send: one file a connection.
import socket, sys, threading
there, what = socket.create_server(("127.0.0.1", 0)), sys.argv[1]
print(there.getsockname()[1], flush=True)
def move(source, to, kept):
    with open(kept, "wb") as file:
        try:
            while data := source.recv(65536):
                file.write(data)
                file.flush()
                to.sendall(data)
        except OSError:
            pass
        try:
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass
number = 0
while True:
    client, _ = there.accept()
    if not what.isdigit():
        client.sendall(open(what, "rb").read())
        client.close()
        continue
    worker = socket.create_connection(("127.0.0.1", int(what)))
    threading.Thread(target=move, args=(client, worker, f"sent{number}"), daemon=True).start()
    threading.Thread(target=move, args=(worker, client, f"heard{number}"), daemon=True).start()
    number += 1
X
relay() { # PORT|FILE
	rm -f relayed
	python3 relay.py "$1" >relayed 2>relay.err &
	relay=$!
	within test -s relayed
	relayed=$(cat relayed)
}
head -c 3000 "$DFG" >noise
relay noise
printf 'alpha tcp=127.0.0.1:%s\nbeta tcp=127.0.0.1:%s\n' "$relayed" "$port" >noisy
got=0
train --hosts ./noisy --secret-file secret --replicas 2 >out 2>err || got=$?
[ $got = 69 ] || [ $got = 76 ] || { cat err; exit 1; }
has err 'alpha: '
kill $relay

# The words of a launcher, once recorded, do not open a worker again: the worker hangs up on a replayed run.
kill "$w0" "$w1" 2>/dev/null || true # a run that fails ends the workers that it has reached
pair
relay "$first"
printf 'alpha tcp=127.0.0.1:%s\nbeta tcp=127.0.0.1:%s\n' "$relayed" "$port" >tapped
status 0 train --hosts ./tapped --secret-file secret --replicas 2
cmp w.npz one.npz
ended w0 0
ended w1 0
kill $relay
[ "$(find . -name 'sent*' -size +1k | wc -l)" -ge 1 ]
never grep -qa 'Bearer\|/link' sent*
start w0 --number 0 --port "$first"
start w1 --number 1 --port 0
printf 'alpha tcp=127.0.0.1:%s\nbeta tcp=127.0.0.1:%s\n' "$first" "$port" >hosts
for record in sent*; do
	[ ! -s "$record" ] || python3 say.py "$first" "$record" # the launcher first looks whether somebody is there
done
never gone "$w0"
if command -v openssl >/dev/null && command -v curl >/dev/null; then
	hkdf() { # OPTIONS...: 32 bytes, as hexadecimal digits; openssl is another implementation of all that is derived
		openssl kdf -keylen 32 -kdfopt digest:SHA2-256 "$@" HKDF | tr -d ':\n' | tr A-F a-f
	}
	hex() { # TEXT
		printf '%s' "$1" | od -An -tx1 | tr -d ' \n'
	}
	base=$(hkdf -kdfopt mode:EXTRACT_ONLY -kdfopt "hexkey:$(hex "$(cat secret)")" -kdfopt 'salt:dfg secret file')
	derived() { # INFO
		hkdf -kdfopt mode:EXPAND_ONLY -kdfopt "hexkey:$base" -kdfopt "info:$1"
	}
	for i in 0 1; do
		seed=$(derived "key of worker $i")
		python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]))' \
			"302e020100300506032b657004220420$seed" >key.der
		pin=$(openssl pkey -inform DER -in key.der -pubout -outform DER | openssl dgst -sha256 -binary | base64)
		has w$i "\"fingerprint\":\"sha256:$pin\""
	done
	post() { # ADDRESS VERSION OPTIONS...
		at=$1 version=$2
		shift 2
		timeout 20 curl -si -X POST -H "authorization: Bearer $(derived 'secret of the run')" -H 'dfg-link: 1' \
			-H 'dfg-peer: 0' -H "dfg-version: $version" "$@" "$at/link" || true
	}
	post "http://127.0.0.1:$first" 0.1.0 --http2-prior-knowledge >answer
	[ ! -s answer ]
	post "https://127.0.0.1:$first" 9.9.9 --http2 -k >answer
	grep -q '^HTTP/2 505' answer
	grep -q "^dfg-version: $("$DFG" version | awk 'NR == 1 {print $2}')" answer
fi

# Another version of dfg is refused, and both are named.
version=$("$DFG" version | awk 'NR == 1 {print $2}')
sed "s/$version/9.9.9/g" "$DFG" >odd
chmod +x odd
status 76 timeout 100 ./odd run m.dfg --feed x=f32[1]:1 --hosts ./hosts --secret-file secret
has err "runs dfg $version, but this is dfg 9.9.9: install the same version on all hosts"
kill "$w0" "$w1" 2>/dev/null || true

# Faults of the file and of the hosts.
status 2 train --secret-file secret
has err '--secret-file requires --hosts'
status 65 train --hosts local:2 --secret-file secret --replicas 2
has err 'no host of --hosts has the address of such a worker, tcp=ADDR:PORT'
chmod 640 secret
for command in "train --hosts ./hosts --replicas 2" "$DFG serve --worker"; do
	# shellcheck disable=SC2086
	status 77 $command --secret-file secret
	has err 'secret: users other than its owner can read it: chmod 600'
done
chmod 600 secret
(umask 077; echo short >brief)
status 77 "$DFG" serve --worker --secret-file brief
has err 'has 5 characters, but must have at least 32'
status 66 train --hosts ./hosts --secret-file none --replicas 2
status 2 "$DFG" serve --worker --secret-file secret --port 7000 --listen 127.0.0.1
status 2 "$DFG" serve --worker --secret-file secret --port 70000
for option in ssh=x dfg=x slots=1 addr=x; do
	echo "alpha tcp=127.0.0.1:7000 $option" >wrong
	status 78 train --hosts ./wrong --secret-file secret
	has err "wrong:1: ${option%%=*}= does not apply to a worker that runs already"
done
