# dfg serve and frames of HTTP/2 that break its rules: the error that RFC 9113 gives for each, and other clients are served.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

cat >double.dfg <<'X'
input x: f32[batch, 3]
output y = x * 2
X
start double.dfg
cat >frames.py <<'X'
import socket, struct, sys

host, port = sys.argv[1].split("//")[1].split(":")
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
PROTOCOL, FLOW, CLOSED, SIZE, COMPRESSION = 1, 3, 5, 6, 9


def frame(kind, flags, stream, data=b"", length=None):
    return struct.pack(">I", len(data) if length is None else length)[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data


def field(name, value):
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


# GET /v2, http, localhost: a name's index in the static table, and a value
get = b"\x82\x86\x04\x03/v2\x01\x09localhost"
post = b"\x83\x86\x04\x03/v2\x01\x09localhost"
start = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0)
good = frame(HEADERS, 5, 1, get)

# A name, the bytes after the preface, and the code of the GOAWAY or RST that follows, or "answer".
cases = [
    ("a request", good, "answer"),
    ("a frame of an unknown kind", frame(77, 255, 0, b"abc") + good, "answer"),
    ("unknown flags", frame(PING, 0xfe, 0, bytes(8)) + good, "answer"),
    ("unknown settings", frame(SETTINGS, 0, 0, b"\x99\x99\x00\x00\x00\x01") + good, "answer"),
    ("data on stream 0", frame(DATA, 0, 0, b"x"), PROTOCOL),
    ("data on an idle stream", frame(DATA, 0, 1, b"x"), PROTOCOL),
    ("headers on stream 0", frame(HEADERS, 5, 0, get), PROTOCOL),
    ("headers on an even stream", frame(HEADERS, 5, 2, get), PROTOCOL),
    ("a frame that is too long", frame(DATA, 0, 1, bytes(16385)), SIZE),
    ("settings of 5 bytes", frame(SETTINGS, 0, 0, bytes(5)), SIZE),
    ("settings on a stream", frame(SETTINGS, 0, 1, bytes(6)), PROTOCOL),
    ("an acknowledgement with settings", frame(SETTINGS, 1, 0, bytes(6)), SIZE),
    ("a window of 2^31", frame(SETTINGS, 0, 0, b"\x00\x04\x80\x00\x00\x00"), FLOW),
    ("frames of at most 100 bytes", frame(SETTINGS, 0, 0, b"\x00\x05\x00\x00\x00\x64"), PROTOCOL),
    ("push that is neither on nor off", frame(SETTINGS, 0, 0, b"\x00\x02\x00\x00\x00\x02"), PROTOCOL),
    ("a ping of 7 bytes", frame(PING, 0, 0, bytes(7)), SIZE),
    ("a ping on a stream", frame(PING, 0, 1, bytes(8)), PROTOCOL),
    ("a goaway on a stream", frame(GOAWAY, 0, 1, bytes(8)), PROTOCOL),
    ("a window that grows by 0", frame(WINDOW, 0, 0, bytes(4)), PROTOCOL),
    ("a window that grows beyond 2^31 - 1", frame(WINDOW, 0, 0, b"\x7f\xff\xff\xff"), FLOW),
    ("a window of 3 bytes", frame(WINDOW, 0, 0, bytes(3)), SIZE),
    ("a window of an idle stream", frame(WINDOW, 0, 7, b"\x00\x00\x00\x01"), PROTOCOL),
    ("a reset of an idle stream", frame(RST, 0, 1, bytes(4)), PROTOCOL),
    ("a reset of stream 0", frame(RST, 0, 0, bytes(4)), PROTOCOL),
    ("a reset of 3 bytes", frame(HEADERS, 4, 1, post) + frame(RST, 0, 1, bytes(3)), SIZE),
    ("a push by the client", frame(HEADERS, 4, 1, post) + frame(PUSH, 4, 1, bytes(4) + get), PROTOCOL),
    ("a continuation of nothing", frame(CONTINUATION, 4, 1, get), PROTOCOL),
    ("data within a list of fields", frame(HEADERS, 0, 1, post) + frame(DATA, 0, 1, b"x"), PROTOCOL),
    ("a continuation of another stream", frame(HEADERS, 0, 1, get) + frame(CONTINUATION, 4, 3, b""), PROTOCOL),
    ("more padding than bytes", frame(HEADERS, 13, 1, b"\xff" + get), PROTOCOL),
    ("fields of an unknown index", frame(HEADERS, 5, 1, b"\xff\xff\xff\x7f"), COMPRESSION),
    ("a string that ends too early", frame(HEADERS, 5, 1, b"\x00\x7fabc"), COMPRESSION),
    ("no path", frame(HEADERS, 5, 1, b"\x82\x86\x01\x09localhost"), PROTOCOL),
    ("two paths", frame(HEADERS, 5, 1, get + b"\x04\x03/v2"), PROTOCOL),
    ("a name in capitals", frame(HEADERS, 5, 1, get + field(b"Accept", b"x")), PROTOCOL),
    ("a field of HTTP/1.1", frame(HEADERS, 5, 1, get + field(b"connection", b"close")), PROTOCOL),
    ("a pseudo-field after a field", frame(HEADERS, 5, 1, b"\x82\x86" + field(b"a", b"b") + b"\x04\x03/v2\x01\x09localhost"), PROTOCOL),
    ("an unknown pseudo-field", frame(HEADERS, 5, 1, get + field(b":what", b"x")), PROTOCOL),
    ("a body that is longer than announced", frame(HEADERS, 4, 1, post + field(b"content-length", b"1")) + frame(DATA, 1, 1, b"xx"), PROTOCOL),
    ("a body that is shorter than announced", frame(HEADERS, 4, 1, post + field(b"content-length", b"9")) + frame(DATA, 1, 1, b"xx"), PROTOCOL),
    ("data after the end of a request", good + frame(DATA, 1, 1, b"x"), ("answer", CLOSED, PROTOCOL)),
    ("a wrong preface", None, "end"),
]


def read(s, count):
    data = b""
    while len(data) < count:
        piece = s.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def outcome(s):
    """The first GOAWAY's or RST's code, the answer's status, or the end of the connection."""
    try:
        while True:
            head = read(s, 9)
            kind, body = head[3], read(s, int.from_bytes(head[:3], "big"))
            if kind == GOAWAY:
                return int.from_bytes(body[4:8], "big")
            if kind == RST:
                return int.from_bytes(body[:4], "big")
            if kind == HEADERS:
                return "answer" if body[:1] == b"\x88" else "refused"
    except TimeoutError:
        return "nothing"
    except (EOFError, ConnectionError):
        return "end"


failed = False
for name, sent, wanted in cases if __name__ == "__main__" else []:
    s = socket.create_connection((host, int(port)))
    s.settimeout(5)
    s.sendall(b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n" if sent is None else start + sent)
    got = outcome(s)
    s.close()
    if sent is None and got != "answer":
        got = "end"
    if got != wanted and (not isinstance(wanted, tuple) or got not in wanted):
        failed = True
        print(f"{name}: {got}, not {wanted}")
if __name__ == "__main__":
    sys.exit(failed)
X
python3 frames.py "$url"
ask 200 --http2-prior-knowledge "$url/v2"
ask 200 "$url/v2"
stop

# Requests that are too large or too slow are answered, and their streams end; clients that do not read, or that send frames which
# ask for nothing, lose their stream or connection.
start double.dfg --timeout 1 --max-body 64Ki
cat >limits.py <<'X'
from frames import *


def conversation(sent, is_last):
    """The frames (kind, stream, data) that come, up to one of which is_last is true, or the end of the connection."""
    s = socket.create_connection((host, int(port)))
    s.settimeout(20)
    seen = []
    try:
        s.sendall(start + sent)
        while not seen or not is_last(*seen[-1]):
            head = read(s, 9)
            seen.append((head[3], int.from_bytes(head[5:9], "big"), read(s, int.from_bytes(head[:3], "big"))))
    except (EOFError, ConnectionError):
        pass
    s.close()
    return seen


def is_answered(name, words, sent):
    """The answer on stream 1 has the words; later, when the client still has not ended its request, the stream is reset."""
    seen = conversation(sent, lambda kind, stream, data: kind == RST)
    body = b"".join(data for kind, stream, data in seen if kind == DATA)
    assert words in body and seen[-1] == (RST, 1, bytes(4)), (name, seen)


open_post = frame(HEADERS, 4, 1, post)
is_answered("a body that is too large", b"the body is too large", open_post + frame(DATA, 0, 1, bytes(16000)) * 5)
is_answered("a body that does not come", b"not complete in time", open_post)
large = get + b"".join(field(b"a%d" % i, b"b" * 100) for i in range(120))
is_answered("a head that is too large", b"the head of the request is too large", frame(HEADERS, 4, 1, large))

# The same by gRPC: the status is 200, and trailers follow instead of a body.
call = field(b"content-type", b"application/grpc")
for sent in frame(HEADERS, 4, 1, post + call) + frame(DATA, 0, 1, bytes(16000)) * 5, frame(HEADERS, 4, 1, post + call + large[len(get) :]):
    seen = conversation(sent, lambda kind, stream, data: kind == RST)
    heads = [data for kind, stream, data in seen if kind == HEADERS]
    assert len(heads) == 2 and heads[0][:1] == b"\x88" and not any(kind == DATA for kind, stream, data in seen), seen

# With a window of 0 no answer can be sent: its stream is cancelled, and does not hold the answer for ever.
seen = conversation(frame(SETTINGS, 0, 0, b"\x00\x04\x00\x00\x00\x00") + good, lambda kind, stream, data: kind == RST)
assert seen[-1] == (RST, 1, bytes([0, 0, 0, 8])), seen

# Frames of unknown kinds are charged like others.
seen = conversation(frame(77, 0, 0, b"x") * 2000, lambda kind, stream, data: kind == GOAWAY)
assert seen[-1][0] != GOAWAY or seen[-1][2][4:8] == bytes([0, 0, 0, 11]), seen

# Data that is sent before the answer to a large body has come costs nothing: the next request on the connection is answered.
more = open_post + frame(DATA, 0, 1, bytes(1100)) * 3000 + frame(HEADERS, 5, 3, get)
seen = conversation(more, lambda kind, stream, data: stream == 3 and kind == DATA)
assert seen[-1][1] == 3 and b'"name":"dfg"' in seen[-1][2], seen
X
python3 limits.py "$url"
ask 200 "$url/v2"
stop
