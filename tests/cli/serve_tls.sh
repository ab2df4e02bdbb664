# dfg serve over TLS: HTTP/1.1 and HTTP/2 by ALPN on one port.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"
command -v openssl >/dev/null || exit 0

certify() { # NAME SUBJECT-ALTERNATIVE-NAME
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.pem" -days 2 -subj "/CN=$1" \
		-addext "subjectAltName=$2" 2>/dev/null
}
certify good IP:127.0.0.1,DNS:localhost
certify other DNS:other.example
cat >double.dfg <<'X'
input x: f32[batch, 3]
output y = x * 2
X
"$DFG" build double.dfg -o double.pb
start double.pb --tls-cert good.pem --tls-key good.key
case $url in https://*) ;; *) echo "$url"; exit 1 ;; esac
body='{"inputs":{"x":[[1,2,3]]}}'
for version in --http1.1 --http2 "--tls-max 1.2"; do
	ask 200 --cacert good.pem $version "$url/v1/models/double:predict" -d "$body"
	equals '{"outputs":[[2,4,6]]}'
done
[ "$(curl -sS --cacert good.pem -o answer -w '%{http_version}' "$url/v2")" = 2 ]
[ "$(curl -sS --cacert good.pem --http1.1 -o answer -w '%{http_version}' "$url/v2")" = 1.1 ]
# A body and an answer of many records, and several requests on one connection.
"$DFG" run double.pb --feed 'x=normal:f32[300000,3]:seed=1' --fetch x -o x.npy
"$DFG" run double.pb --feed x=@x.npy -o y.npy
for version in --http1.1 --http2; do
	ask 200 --cacert good.pem $version --data-binary @x.npy "$url/run"
	cmp answer y.npy
	curl -sS --cacert good.pem $version "$url/v2" -o one "$url/v2" -o two
	cmp one two
done
# A certificate that does not fit, plain HTTP, rubbish, half a handshake: the server continues for the others.
never curl -sS --cacert other.pem "$url/v2" 2>err
never curl -sS "http://${url#https://}/v2" 2>err
python3 - "$url" <<'X'
import socket, sys
host, port = sys.argv[1].split("//")[1].split(":")
for bad in [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"a" * 70000, b"\x16\x03\x01\x00\x05hello", bytes(range(256)) * 64]:
    s = socket.create_connection((host, int(port)))
    s.settimeout(10)
    try:
        s.sendall(bad)
        s.shutdown(socket.SHUT_WR)
        while s.recv(65536):
            pass
    except OSError as error:
        assert not isinstance(error, TimeoutError), bad
half = [socket.create_connection((host, int(port))) for _ in range(50)]
for s in half:
    s.sendall(b"\x16\x03\x01")
X
ask 200 --cacert good.pem "$url/v2"
stop
# HUP takes another certificate: an older connection continues, and no request is lost. One that cannot be used is reported.
cp good.pem used.pem
cp good.key used.key
start double.pb --tls-cert used.pem --tls-key used.key
certify next IP:127.0.0.1,DNS:localhost
cat >kept.py <<'X'
import http.client, os, ssl, sys
host, port = sys.argv[1].split("//")[1].split(":")
kept = http.client.HTTPSConnection(host, int(port), context=ssl.create_default_context(cafile="good.pem"))
count = 0
while not os.path.exists("enough"):
    kept.request("GET", "/v2")
    answer = kept.getresponse()
    answer.read()
    assert answer.status == 200
    count += 1
    if count == 1:
        open("first", "w").close()
print(count)
X
python3 kept.py "$url" >count &
client=$!
within test -e first
cp next.pem used.pem
cp next.key used.key
kill -HUP "$server"
within curl -sS --cacert next.pem -o answer "$url/v2"
never curl -sS --cacert good.pem "$url/v2" 2>err
cp good.key used.key
kill -HUP "$server"
within grep -q 'the certificate stays as it is' talk
has talk 'used.key is not the key of used.pem'
ask 200 --cacert next.pem "$url/v2"
touch enough
wait "$client"
[ "$(cat count)" -gt 1 ]
stop
# A handshake that is not complete in time ends the connection.
start double.pb --tls-cert good.pem --tls-key good.key --timeout 0.5
python3 - "$url" <<'X'
import socket, sys
host, port = sys.argv[1].split("//")[1].split(":")
s = socket.create_connection((host, int(port)))
s.settimeout(10)
s.sendall(b"\x16\x03\x01")
assert s.recv(1) == b""
X
stop

status 2 "$DFG" serve double.pb --host 0.0.0.0
has err '--insecure'
status 2 "$DFG" serve double.pb --tls-cert good.pem
status 2 "$DFG" serve double.pb --tls-cert good.pem --tls-key good.key --insecure
status 66 "$DFG" serve double.pb --tls-cert none.pem --tls-key good.key
has err 'none.pem'
status 78 "$DFG" serve double.pb --tls-cert good.pem --tls-key other.key
has err 'other.key is not the key of good.pem'
status 78 "$DFG" serve double.pb --tls-cert double.dfg --tls-key good.key
has err 'double.dfg is not a certificate in PEM'
start double.pb --host 0.0.0.0 --tls-cert good.pem --tls-key good.key
url=https://127.0.0.1:${url##*:}
ask 200 --cacert good.pem "$url/v2"
stop
