# dfg serve with programs of Debian: Prometheus's promtool reads the metrics; wrk and h2load get answers to all requests; nginx and
# dfg agree on which of 10,000 mutated requests are requests. Says which of them is absent.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"
PATH=$PATH:/usr/sbin
is_there() { # PROGRAM PACKAGE
	command -v "$1" >where || { echo "$1 is absent: apt-get install $2"; return 1; }
}
printf 'input x: f32[batch]\noutput y = x * 2 + 1\n' >double.dfg
start double.dfg
printf '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[3]}]}' >body.json
path=/v2/models/double/infer
ask 200 "$url$path" -d @body.json
ask 422 "$url$path" -d '{"inputs":[]}'

if is_there promtool prometheus; then
	curl -sS "$url/metrics" >metrics
	promtool check metrics <metrics >prom 2>&1 || { cat prom; exit 1; }
	[ ! -s prom ] || { cat prom; exit 1; }
fi
if is_there wrk wrk; then
	printf 'wrk.method = "POST"\nwrk.body = io.open("body.json"):read("*a")\n' >post.lua
	wrk -t2 -c16 -d2s -s post.lua "$url$path" >seen
	! grep -E 'Non-2xx|Socket errors' seen || { cat seen; exit 1; }
	awk '/requests in/ {exit !($1 > 100)}' seen
fi
if is_there h2load nghttp2-client; then
	h2load -n 5000 -c 4 -m 32 -d body.json "$url$path" >seen 2>&1
	grep -q '5000 succeeded, 0 failed, 0 errored, 0 timeout' seen || { cat seen; exit 1; }
fi

# Dfg may refuse more requests than nginx, but must not see more of them on a connection: they could be smuggled.
if is_there nginx nginx-light; then
	mkdir -p logs t
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >nginx.conf <<X
user $(id -un) $(id -gn);
worker_processes 1;
pid nginx.pid;
error_log logs/error.log crit;
events { worker_connections 1000; }
http {
	access_log off;
	client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;
	client_max_body_size 64m;
	upstream dfg { server ${url#http://}; }
	server {
		listen 127.0.0.1:$port;
		lingering_close off;
		location / { proxy_pass http://dfg; proxy_set_header Host localhost; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_ignore_client_abort on; }
	}
}
X
	nginx -p "$PWD/" -c "$PWD/nginx.conf" -g 'daemon off;' 2>nginx.err &
	nginx=$!
	through() { curl -fsS -o static "http://127.0.0.1:$port/v2"; }
	within through
	python3 - "${url##*:}" "$port" "${REQUESTS:-10000}" <<'X'
import random, re, socket, sys
own, other, count = (int(word) for word in sys.argv[1:])
random.seed(16)
body = open("body.json", "rb").read()
get = b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n"
post = b"POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
chunked = (b"POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body +
           b"\r\n0\r\n\r\n")
last = b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
parts = [b"\r\n", b"\n", b"\r", b" ", b"\t", b"\0", b":", b";", b"0", b"00", b"+", b"-", b"0x", b",", b"\x0b", b"\x80", b"\xff", b"chunked", b"identity",
         b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Content-Length : 5\r\n", b"Transfer-Encoding: chunked\r\n",
         b"Transfer-Encoding : chunked\r\n", b"Transfer-Encoding: x, chunked\r\n", b"Transfer-Encoding:\x0bchunked\r\n", b" X: folded\r\n",
         b"Host: b\r\n", b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"GET ", b"HTTP/1.0", b"HTTP/1.2", b"http://localhost/v2"]

def mutate(text):
    for turn in range(random.choice([1, 1, 1, 2, 3])):
        head = text.index(b"\r\n\r\n") + 4 if b"\r\n\r\n" in text else len(text)
        at = random.choice([random.randrange(len(text) + 1), random.randrange(head), (text.find(b"\r\n") + 2)])
        kind = random.randrange(4)
        if kind == 0:
            text = text[:at] + random.choice(parts) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + random.randrange(1, 4):]
        elif kind == 2:
            text = text[:at] + bytes([random.randrange(256)]) + text[at + 1:]
        else:
            text = text[:at] + random.choice(parts) + text[at + random.randrange(1, 8):]
    return text

def statuses(port, text):
    """Of the answers until the server ends the connection."""
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(30)
    got = b""
    try:
        s.sendall(text)
        s.shutdown(socket.SHUT_WR)
        while piece := s.recv(65536):
            got += piece
    except (ConnectionResetError, BrokenPipeError):
        pass
    s.close()
    return [int(code) for code in re.findall(rb"HTTP/1\.[01] (\d\d\d) ", got) if code != b"100"]

strict = same = seen = 0
for i in range(count):
    text = mutate(random.choice([get, post, chunked])) + last
    # nginx ends the connection for a path that it cannot decode, and takes no tab for white space.
    if any(part in text for part in (b"%", b"/.", b"\t")):
        continue
    ours, theirs = statuses(own, text), statuses(other, text)
    # Both end a connection after bytes that are not a request. More requests than nginx sees would be a way to smuggle one.
    taken, wanted = (len(codes) - (codes[-1:] != [] and codes[-1] in (400, 408, 413, 414, 417, 431, 501, 505)) for codes in (ours, theirs))
    if taken > wanted:
        print("taken by dfg alone:", text, ours, theirs)
        sys.exit(1)
    same += taken == wanted
    strict += taken < wanted
    seen += 1
print(f"{seen} requests: {same} read alike, {strict} refused by dfg alone")
assert same > seen / 2
X
	kill "$nginx"
	wait "$nginx"
fi
ask 200 "$url$path" -d @body.json
stop
