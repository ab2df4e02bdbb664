# dfg serve and requests that are malformed, cut off, too large or too slow: each gets its status with a sentence in the form of its
# protocol, and others are served. Time and memory are bounded.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

cat >two.dfg <<'D'
input x: f32[batch, 3]
input k: i32[batch]
input s: string[batch]
output y = x * 2 + 1
output z = f32(k) + sum(x, axis = 1)
output t = s
D
"$DFG" build two.dfg -o two.pb
start two.pb --timeout 1 --max-body 4Mi
cat >client.py <<'D'
import json, socket, sys, time

host, port = sys.argv[1].split("//")[1].split(":")
failures = []  # shared by the programs that import this one, which a variable would not be


def exchange(data, ends=False):
    """The bytes of the answer; the server ends the connection within the time of a test."""
    s = socket.create_connection((host, int(port)))
    s.settimeout(20)
    got = b""
    try:
        s.sendall(data)
        if ends:
            s.shutdown(socket.SHUT_WR)
        while piece := s.recv(65536):
            got += piece
    except ConnectionError:
        pass
    s.close()
    return got


def expect(name, status, words, data, ends=False):
    """The last answer has the status, and its error is an object of JSON with a sentence."""
    got = exchange(data, ends)
    head, _, body = got[got.rfind(b"HTTP/1.1 "):].partition(b"\r\n\r\n")
    try:
        text = json.loads(body)["error"] if status >= 400 else body.decode()
    except ValueError:
        text = repr(body)
    if not head.startswith(b"HTTP/1.1 %d " % status) or words not in text:
        failures.append(name)
        print(f"{name}: {head[:40]} {text[:200]!r}, not {status} with {words!r}")


def post(name, status, words, body, path="/v2/models/two/infer", fields=""):
    body = body.encode() if isinstance(body, str) else body
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
    expect(name, status, words, head.encode() + body)


def infer(case, status, words, **tensor):
    """A request for one tensor, which is right but for the given members."""
    tensor = {"name": '"x"', "datatype": '"FP32"', "shape": "[1,3]", "data": "[1,2,3]", **tensor}
    post(case, status, words, '{"inputs":[{%s}]}' % ",".join(f'"{key}":{value}' for key, value in tensor.items()))


def predict(name, status, words, body):
    post(name, status, words, body, "/v1/models/two:predict")


def ask(name, status, words, path, method="GET", fields=""):
    expect(name, status, words, f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n".encode())
D

# Framing of HTTP/1.1.
cat >framing.py <<'D'
from client import *
head = b"POST /v2/models/two/infer HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
length, chunked = b"Content-Length: %d\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"
expect("a body cut off", 400, "ended after 1 bytes, but Content-Length is 100", head + length % 100 + b"{", ends=True)
expect("a head cut off", 400, "ended within its head", head, ends=True)
expect("chunks cut off", 400, "ended before its last chunk", head + chunked + b"5\r\nab", ends=True)
expect("a body that does not come", 408, "not complete in time", head + length % 100 + b"{")
expect("a head that does not end", 408, "not complete in time", head)
expect("chunks that do not end", 408, "not complete in time", head + chunked + b"1\r\na\r\n" * 300000)
expect("a length too small", 422, 'no "inputs"', head + length % 2 + b"{}{}")
for wrong in b"-2", b"+2", b"0x2", b"2, 2", b"2 2", b"", b"9" * 30:
    expect(f"length {wrong}", 400, "Content-Length must be one number", head + b"Content-Length: " + wrong + b"\r\n\r\n{}")
expect("a length too large", 413, "too large", head + length % 5000000)
expect("a chunk longer than a body may be", 413, "too large", head + chunked + b"7FFFFFFF\r\n")
expect("a chunk that is", 413, "too large", head + chunked + b"7FFFFFFF\r\n" + b"a" * 5000000)
expect("a chunk of 2^68", 400, "chunks", head + chunked + b"F" * 17 + b"\r\n")
expect("a long extension", 400, "chunks", head + chunked + b"1;" + b"x" * 100000)
expect("trailers without end", 400, "chunks", head + chunked + b"0\r\n" + b"a: b\r\n" * 100000)
expect("chunks with bare LF", 400, "chunks", head + chunked + b"1\na\n0\n\n")
expect("both lengths", 400, "both", head + b"Content-Length: 5\r\n" + chunked + b"0\r\n\r\n")
expect("two lengths", 400, "one number", head + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}")
expect("an unknown coding", 501, "only Transfer-Encoding", head + b"Transfer-Encoding: gzip, chunked\r\n\r\n")
expect("a space before the colon", 400, "NAME: VALUE", head + b"Transfer-Encoding : chunked\r\n\r\n")
expect("a bare LF", 400, "bare CR, LF", head + b"A: b\nContent-Length: 2\r\n\r\n{}")
expect("a folded line", 400, "folded", head + b"A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}")
expect("a zero byte", 400, "zero byte", head + b"A: b\0c\r\n\r\n")
expect("only LF", 400, "bare CR, LF", b"GET /v2 HTTP/1.1\nHost: localhost\n\n")
expect("TLS", 400, "no method", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 500)
expect("no Host", 400, "one Host", b"GET /v2 HTTP/1.1\r\n\r\n")
expect("many fields", 431, "more than 100", head + b"".join(b"A%d: b\r\n" % i for i in range(101)) + b"\r\n")
expect("a long head", 431, "too large", head + b"A: " + b"b" * 40000)
expect("a compressed body", 415, "gzip", head + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}")
# A client that sends two requests and then ends its side gets both answers, though the second comes while the first waits.
get = b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n"
assert exchange(get * 2, ends=True).count(b"HTTP/1.1 200") == 2
sys.exit(bool(failures))
D
python3 framing.py "$url"

# JSON, shapes, types and names.
cat >bodies.py <<'D'
from client import *
for body in "[" * 100000, '{"a":' * 100000, '{"inputs":' + "[" * 5000 + "]" * 5000 + "}":
    post("deep JSON", 400, "nested deeper than 64", body)
for number in "NaN", "Infinity", "-Infinity", "nan", "01", "1.", "+1", ".5", "1e", "0x1":
    infer(f"number {number}", 400, "line 1, column", data=f"[{number},1,1]")
for number in "1e999", "-1e999", "3.5e38":
    infer(f"number {number}", 422, "element 0 is a number that f32 cannot hold", data=f"[{number},1,1]")
for element, kind in ('"1"', "a string"), ("null", "null"), ("true", "a boolean"), ("{}", "an object"), ("[1]", "an array"):
    infer(f"element {element}", 422, f"element 1 is {kind}, expected a value of type f32", data=f"[1,{element},1]")
infer("another nesting", 422, "the nesting of the lists does not match the shape [1,3]", data="[[1,2],[3]]")
infer("data that is not a list", 422, "not an array", data='"abc"')
for shape, words in [("[4611686018427387904,3]", "larger than any memory"), ("[4294967296,4294967296]", "larger than any memory"),
        ("[9223372036854775808,3]", "integers of at least 0"), ("[-1,3]", "integers"), ("[1.0,3]", "integers"), ('["1",3]', "integers"),
        ("[null]", "integers"), ("[1,1,1,1,1,1,1,1,1]", "more than 8"), ("[1000000,3]", "fewer elements"), ("[1,4]", "there are 3 elements"), ("[3]", "expected f32[?,3]"),
        ("[]", "more elements than the 1 of"), ("[0,3]", "more elements than the 0 of"), ("3", "not an array")]:
    infer(f"shape {shape}", 422, words, shape=shape)
infer("another type", 422, "unknown datatype 'FLOAT'", datatype='"FLOAT"')
infer("a name with a zero", 422, '"name" contains a zero character', name='"x\\u0000y"')
infer("a name that is a number", 422, '"name" is a number', name="7")
infer("half of a pair", 400, "surrogate", name='"\\ud800"')
post("not UTF-8", 400, "UTF-8", b'{"inputs":[{"name":"\xff"}]}')
post("a key twice", 400, "duplicate key", '{"inputs":[],"inputs":[]}')
post("text after it", 400, "after the value", "{} x")
post("a byte order mark", 400, "JSON value", b"\xef\xbb\xbf{}")
post("no object", 400, "must be a JSON object", "[]")
post("nothing", 400, "JSON value", "")
post("inputs that are a string", 422, "not an array", '{"inputs":"x"}')
post("inputs that are numbers", 422, "an input", '{"inputs":[1]}')
post("an id that is a number", 422, '"id" is a number', '{"id":7,"inputs":[]}')
for text in "a*k=", "a", "aGk":
    predict(f"base64 {text}", 422, "not base64", '{"inputs":{"s":[{"b64":"%s"}]}}' % text)
predict("base64 for a number", 422, "an object", '{"inputs":{"x":[{"b64":"AAAA"}]}}')
predict("much base64", 200, "AAAA", '{"inputs":{"s":[{"b64":"%s"}]}}' % ("QUFB" * 800000))
predict("many strings", 200, '"",""', '{"inputs":{"s":[%s]}}' % ",".join(['{"b64":""}'] * 200000))
predict("a string for a number", 422, "element 0 is a string", '{"inputs":{"x":[["1",2,3]]}}')
predict("ragged lists", 422, "the lists differ in length or depth", '{"inputs":{"x":[[1,2],[3]]}}')
predict("deep lists", 422, "deeper than 8", '{"inputs":{"x":%s}}' % ("[" * 9 + "1" + "]" * 9))
predict("a large integer", 422, "i32 cannot hold", '{"inputs":{"k":[2147483648],"x":[[1,2,3]]}}')
predict("another signature", 422, "serving_default", '{"signature_name":"other","inputs":{}}')
predict("a signature that is a number", 422, '"signature_name" is a number', '{"signature_name":1,"inputs":{}}')
sys.exit(bool(failures))
D
python3 bodies.py "$url"

# Paths, versions and methods.
cat >paths.py <<'D'
from client import *
for path in ["/v2/models/none", "/v2/models/", "/v1/models/none", "/v2/models/../../etc/passwd", "/v2/models/..%2f..%2fetc%2fpasswd",
        "/v2/models/%2e%2e/two", "/run/..%2ftwo"]:
    ask(path, 405 if path.startswith("/run/two") else 404, "the models are: two", path)
for path in "/../etc/passwd", "//v2", "/V2", "/v2/models", "/v2#two", "*":
    ask(path, 404, "unknown path", path)
for version in "2", "", "abc", "01", "+1", "-1", "%31", "-18446744073709551615", "9" * 30:
    ask(f"version '{version}'", 404, "version 1 only", f"/v2/models/two/versions/{version}")
for path in "/v2/models/two%00", "/v2/models/%zz":
    ask(path, 400, "'%'", path)
for path in "/", "/v2", "/v2/health/live", "/metrics", "/status", "/graph", "/trace?steps=1":
    ask(f"POST {path}", 405, "must be GET", path, "POST", "Content-Length: 0\r\n")
for method in "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT":
    ask(method, 405, "GET or POST", "/v2", method)
for path in "/run", "/stream", "/v2/models/two/infer", "/v1/models/two:predict":
    ask(f"GET {path}", 405, "must be POST", path)
# Allow names what the path may be asked by, whatever the method was; those that it names are not 405, and others are.
allowed = {"GET, HEAD": ["/", "/v2", "/metrics", "/status", "/v2/models/two", "/v2/models/two/ready", "/v2/models/two/versions/1", "/v1/models/two",
        "/v1/models/two/metadata"],
    "GET": ["/trace?steps=1"],
    "POST": ["/run", "/run/two", "/stream", "/stream/two", "/v2/models/two/infer", "/v2/models/two/versions/1/infer", "/v1/models/two:predict"]}
for methods, all in allowed.items():
    for path in all:
        for method in "GET", "HEAD", "POST", "DELETE":
            got = exchange(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Timeout: 0.01\r\nContent-Length: 0\r\n\r\n".encode())
            is_right = (b" 405 " in got[:20]) != (method in methods.split(", ")) and (b" 405 " not in got[:20] or f"\r\nallow: {methods}\r\n".encode() in got)
            if not is_right:
                failures.append(path)
                print(method, path, got[:200])
ask("another Host", 400, "one Host", "/v2", fields="Host: elsewhere\r\n")
ask("a lower-case method", 400, "no method", "/v2", "get")
sys.exit(bool(failures))
D
python3 paths.py "$url"
[ "$(curl -sS "$url/metrics" | awk '/^process_resident_memory_bytes/ {print ($2 < 100000000)}')" = 1 ]
ask 200 "$url/v2"
stop

# Clients that do not take their answers: beyond --max-answers others are refused, and are served again when the answers are gone.
printf 'input n: i32[]\noutput y = fill([n], 1.0)\n' >many.dfg
start many.dfg --max-answers 1Mi --timeout 2
cat >slow_readers.py <<'D'
from client import *
body = b'{"inputs":{"n":%d}}'
head = b"POST /v1/models/many:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
slow = []
for i in range(3):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect((host, int(port)))
    text = body % 8000000  # 16 MB, more than the system holds for a connection
    s.sendall(head % len(text) + text)
    slow.append(s)
    assert s.recv(1) == b"H"
end = time.monotonic() + 60
while b"503 " not in (got := exchange(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) and time.monotonic() < end:
    pass
assert b"\r\nretry-after: 1\r\n" in got and b"--max-answers" in got, got
ask("health", 200, "true", "/v2/health/live")
# They are given up after the time of a request, though the clients keep their connections.
while b"200 OK" not in (got := exchange(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) and time.monotonic() < end:
    time.sleep(0.05)
assert b"200 OK" in got, got
sys.exit(bool(failures))
D
python3 slow_readers.py "$url"
stop

# The budget of connections: the one that was idle for longest gives way to a new one; those that are busy do not, until their time
# is over.
start two.pb --max-connections 4 --timeout 1
cat >budget.py <<'D'
import os, signal
from client import *


def reach(data):
    s = socket.create_connection((host, int(port)))
    s.settimeout(20)
    s.sendall(data)
    return s


get = b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n"
idle = []
for i in range(4):
    idle.append(reach(get + b"\r\n"))
    assert idle[-1].recv(65536).startswith(b"HTTP/1.1 200")
assert exchange(get + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")
assert idle[0].recv(1) == b""
for s in idle[1:]:
    s.sendall(get + b"\r\n")
    assert s.recv(65536).startswith(b"HTTP/1.1 200")
# Requests that have come but are not read yet, because the server is stopped, are not idle, nor are those that are not complete.
os.kill(int(sys.argv[2]), signal.SIGSTOP)
slow = [reach(get) for i in range(4)]
last = reach(get + b"Connection: close\r\n\r\n")
os.kill(int(sys.argv[2]), signal.SIGCONT)
assert last.recv(65536).startswith(b"HTTP/1.1 200")
for s in slow:
    assert s.recv(65536).startswith(b"HTTP/1.1 408")
D
python3 budget.py "$url" "$server"
stop
