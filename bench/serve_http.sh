# A model server with a scalar model beside servers of a file of the same size: nginx over HTTP/1.1, nghttpd over HTTP/2. Also the
# time to its first answer, and its memory with idle connections. What is absent (wrk, nginx-light, nghttp2-client, nghttp2-server) is
# named, and its rows are left out.
DFG=$(realpath "${DFG:-build/dfg}")
cd "$(mktemp -d "${SCRATCH:-/tmp}/serve_http.XXXXXX")" || exit 1
PATH=$PATH:/usr/sbin
idle=${IDLE:-10000}
is_there() { # PROGRAM PACKAGE
	command -v "$1" >which || { echo "serve_http: $1 is absent: apt-get install $2"; return 1; }
}
printf 'input x: f32[]\noutput y = x * 2 + 1\n' >scalar.dfg
"$DFG" build scalar.dfg -o scalar.pb
printf '%s' '{"inputs":[{"name":"x","datatype":"FP32","shape":[],"data":[3]}]}' >body.json
path=/v2/models/scalar/infer
start() {
	rm -f hello
	"$DFG" serve scalar.pb --port 0 --threads 1 >hello &
	server=$!
	while [ ! -s hello ]; do sleep 0.05; done
	url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' hello)
}
stop() {
	kill "$server"
	wait "$server"
}
# Best of four rounds in turn: microseconds a request.
best() { # FILE
	sort -g "$1" | head -n 1
}

start
mkdir -p www/v2/models/scalar
curl -sS -o "www$path" "$url$path" -d @body.json
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >nginx.conf <<X
user $(id -un) $(id -gn);
worker_processes 1;
pid nginx.pid;
error_log error.log;
events { worker_connections 20000; }
http {
	access_log off;
	client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;
	keepalive_requests 1000000000; keepalive_timeout 600;
	server { listen 127.0.0.1:$port backlog=16384; root www; }
}
X
cat >post.lua <<'X'
wrk.method = "POST"
wrk.body = io.open("body.json"):read("*a")
wrk.headers["Content-Type"] = "application/json"
X
peer=
if is_there nginx nginx-light; then
	nginx -p "$PWD/" -c "$PWD/nginx.conf" -g 'daemon off;' 2>nginx.err &
	peer=$!
	until curl -fsS -o static "http://127.0.0.1:$port$path" 2>curl.err; do sleep 0.05; done
fi
if is_there wrk wrk; then
	for round in 1 2 3 4; do
		wrk -t2 -c16 -d1s -s post.lua "$url$path" | awk '/^Requests\/sec/ {print 1e6 / $2}' >>h1
		[ -z "$peer" ] || wrk -t2 -c16 -d1s "http://127.0.0.1:$port$path" | awk '/^Requests\/sec/ {print 1e6 / $2}' >>h1.nginx
	done
	printf 'serve scalar, HTTP/1.1\t%s\n' "$(best h1)"
	[ -z "$peer" ] || printf 'serve scalar, HTTP/1.1\t%s\tnginx, a file\n' "$(best h1.nginx)"
fi
if is_there h2load nghttp2-client; then
	other=
	if is_there nghttpd nghttp2-server; then
		h2port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
		nghttpd --no-tls -a 127.0.0.1 -d www "$h2port" >nghttpd.log 2>&1 &
		other=$!
		until curl -fsS --http2-prior-knowledge -o static "http://127.0.0.1:$h2port$path" 2>curl.err; do sleep 0.05; done
	fi
	rate() { # ARGUMENTS...: microseconds a request
		h2load -n 40000 -c 2 -m 32 -t 1 "$@" 2>&1 | sed -n 's/^finished in .*, \([0-9.]*\) req.*/\1/p' | awk '{print 1e6 / $1}'
	}
	for round in 1 2 3 4; do
		rate -d body.json -H 'content-type: application/json' "$url$path" >>h2
		[ -z "$other" ] || rate "http://127.0.0.1:$h2port$path" >>h2.nghttpd
	done
	printf 'serve scalar, HTTP/2\t%s\n' "$(best h2)"
	[ -z "$other" ] || printf 'serve scalar, HTTP/2\t%s\tnghttpd, a file\n' "$(best h2.nghttpd)"
	[ -z "$other" ] || { kill "$other"; wait "$other"; }
fi
stop

# From the start of the program to the first answer; the best of ten.
python3 - "$DFG" "$path" <<'X'
import http.client, json, subprocess, sys, time
best = 1e9
for turn in range(10):
    begin = time.monotonic()
    server = subprocess.Popen([sys.argv[1], "serve", "scalar.pb", "--port", "0"], stdout=subprocess.PIPE)
    connection = http.client.HTTPConnection(json.loads(server.stdout.readline())["url"].split("//")[1])
    connection.request("POST", sys.argv[2], open("body.json", "rb").read())
    assert connection.getresponse().status == 200
    best = min(best, time.monotonic() - begin)
    server.terminate()
    assert server.wait() == 0
print(f"serve, first answer after start\t{1000 * best}")
X

# Megabytes of all processes, while each connection has had an answer and waits.
cat >idle.py <<'X'
import glob, socket, sys
host, port = sys.argv[1].split(":")
connections = []
for i in range(int(sys.argv[2])):
    s = socket.create_connection((host, int(port)))
    s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % sys.argv[4].encode())
    connections.append(s)
    if i % 100 == 99 or i + 1 == int(sys.argv[2]):
        for waiting in connections[-100:]:
            assert waiting.recv(65536).startswith(b"HTTP/1.1 200")
def resident(process):
    kib = sum(int(line.split()[1]) for line in open(f"/proc/{process}/status") if line.startswith("VmRSS"))
    return kib + sum(resident(child) for child in open(f"/proc/{process}/task/{process}/children").read().split())
print(resident(sys.argv[3]) / 1024)
X
start
printf 'serve, %s idle connections\t%s\n' "$idle" "$(python3 idle.py "${url#http://}" "$idle" "$server" /v2)"
stop
if [ -n "$peer" ]; then
	printf 'serve, %s idle connections\t%s\tnginx\n' "$idle" "$(python3 idle.py "127.0.0.1:$port" "$idle" "$peer" "$path")"
	kill "$peer"
	wait "$peer"
fi
