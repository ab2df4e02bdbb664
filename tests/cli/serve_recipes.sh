# The recipes of examples/serve work as they are written: the command of the unit of systemd, its reload and its stop, and the entry
# point of the image, with the folders of this test for those of the system.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

cat >fit.dfg <<'D'
input x: f32[batch, 2]
output y = dense(1)(x)
output loss = mean(y * y)
D
printf 'a,b\n1,2\n3,4\n' >data.csv
mkdir -p srv tls model
"$DFG" build fit.dfg | "$DFG" grad - --loss loss --optimizer 'sgd(lr=0.1)' -o step.pb
"$DFG" build fit.dfg -o srv/net.pb
train() { # STEPS
	"$DFG" run step.pb --data x=@data.csv --batch 2 --steps "$1" --epochs 9 --target train --fetch loss --checkpoint srv/net --resume >loss.txt
}
train 1
echo secret >token
chmod 600 token

# The words of a command, with this test's paths, and a free port on the loopback address.
cat >words.py <<'D'
import json, os, re, shlex, sys

root, kind = sys.argv[1:]
here = os.getcwd()
if kind == "image":
    text = open(root + "/examples/serve/Dockerfile").read().replace("\\\n", "")
    assert re.search(r"^STOPSIGNAL SIGTERM$", text, re.M) and re.search(r"^EXPOSE 8080$", text, re.M)
    words = json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.M)[1])
    words = ["127.0.0.1" if word == "0.0.0.0" else word for word in words] + ["--port", "0"]
else:
    unit = dict(line.split("=", 1) for line in open(root + "/examples/serve/dfg-serve@.service") if "=" in line and line[0] not in "#[")
    words = shlex.split(unit[kind].replace("%i", "net").replace("$MAINPID", "MAINPID"))
    words += ["--port", "0"] if kind == "ExecStart" else []
moved = {"/usr/bin/dfg": os.environ["DFG"], "/srv/dfg/": here + "/srv/", "/etc/dfg/token": here + "/token", "/tls/": here + "/tls/",
         "/model/": here + "/model/"}
for old, new in moved.items():
    words = [word.replace(old, new) for word in words]
print(*words, sep="\n")
D
launch() { # KIND
	python3 words.py "$ROOT" "$1" >words.txt
	set --
	while read -r word; do set -- "$@" "$word"; done <words.txt
	rm -f hello
	"$@" >hello 2>talk &
	server=$!
	within test -s hello
	url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' hello)
}

launch ExecStart
has hello '"models":["net"]'
ask 401 "$url/v2/models/net"
ask 200 -H 'Authorization: Bearer secret' "$url/v2/models/net/versions/1"
train 2
[ "$(python3 words.py "$ROOT" ExecReload | tr '\n' ' ')" = '/bin/kill -HUP MAINPID ' ]
kill -HUP "$server"
within grep -qF "model 'net' has version 2" talk
ask 200 -H 'Authorization: Bearer secret' "$url/v2/models/net/versions/2"
stop

command -v openssl >where || exit 0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls/key.pem -out tls/cert.pem -days 2 -subj /CN=localhost \
	-addext subjectAltName=IP:127.0.0.1,DNS:localhost 2>openssl.err
cp srv/net.pb model/model.pb
"$DFG" run srv/net.pb --load srv/net --feed x=f32[1,2]:1,2 --fetch y --save model/weights.safetensors >y.txt
launch image
ask 200 --cacert tls/cert.pem "$url/v1/models/model:predict" -d '{"instances":[[1,2]]}'
has answer "[$(tail -n 1 y.txt)]"
ask 200 --cacert tls/cert.pem "$url/v2/health/ready"
stop
