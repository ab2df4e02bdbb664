#!/usr/bin/env python3
"""tests/fuzz.d/seeds.py DFG: writes the examples from which the targets of `make fuzz` begin, to tests/fuzz.d/TARGET/."""
import glob
import os
import shutil
import struct
import subprocess
import sys
import tempfile

DFG = os.path.realpath(sys.argv[1])
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MOST = 4096


def save(target, name, data):
    if isinstance(data, str):
        data = data.encode()
    os.makedirs(f"{HERE}/{target}", exist_ok=True)
    with open(f"{HERE}/{target}/{name}", "wb") as file:
        file.write(data)


def copy(target, pattern, most=MOST):
    for path in sorted(glob.glob(f"{ROOT}/{pattern}", recursive=True)):
        if os.path.getsize(path) <= most:
            save(target, os.path.basename(path), open(path, "rb").read())


def dfg(*arguments, text=None):
    subprocess.run([DFG, *arguments], input=text, text=text is not None, check=True, capture_output=True)


def read(path):
    return open(path, "rb").read()


def two(first, second):
    return struct.pack("<H", len(first)) + first + second


def crc32c(data):
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def frame(number, payload, kind=1):
    data = struct.pack("<IBBHI", len(payload), kind, 1, 0, number) + payload
    return data + struct.pack("<I", crc32c(data))


def head(kind, dtype, dims, number, step, size, iterations=(), flags=0):
    fixed = struct.pack("<BBBBIQQII", kind, flags, dtype, len(dims), number, step, size, len(iterations), 0)
    return fixed + b"".join(struct.pack("<q", i) for i in (*iterations, *dims))


def packet(*fields):
    return b"".join(struct.pack("<Q", f) if isinstance(f, int) else
                    struct.pack("<Q", len(f)) + f.encode() + b"\0" for f in fields)


PROGRAM = """input x: f32[2,3]
param w: f32[3,2] = glorot
state n: i32[] = 0
set n = n + 1
y = relu(x @ w)
output z = loop (s = y) for i in 0..3 { next s * 0.5 + f32(i) }
output c = if n > 2 { z } else { -z }
"""

LANGUAGE = {
    "program": PROGRAM,
    "function": "fn f(a, b: float = 2.0) { a ** b }\ninput x: f32[3]\noutput y = f(x) + f(x, b = 3.0)\n",
    "layers": "input x: f32[4,8]\noutput y = dropout(batch_norm()(dense(2)(x)), rate = 0.5)\n",
    "static": "a = []\nstatic for i in 0..4 {\n    a = a + [i * i]\n}\noutput b = f32(a)[1:3]\n",
    "branches": 'const k = 3\ninput x: f32[]\noutput y = if x > k { grad(x * x, x) } else { 1e-3 }\nstate s: f32[] = 1\nset s = s + x\n',
    "yields": "k, xs = loop (k = 1) for t in 0.. while k < 100 { \n yield k\n next k * 2\n }\noutput o = xs\n",
}

CSV = {"names": "a,b,c\n1,2.5,x\n3,NA,\"y,\"\"z\"\n", "numbers": "1,2\n3,4\r\n", "one": "1\n\n2\n",
       "quoted": '"1","2"\n"a\nb","c"\n', "scikit": "150,4,setosa,versicolor\n5.1,3.5,1.4,0.2\n"}

JSON = {"rows": '{"a":1e3,"rows":[{"name":"x"},null,true,[-1.5]],"b":"\\u00e9\\ud83d\\ude00"}', "number": "-0.0e-12",
        "deep": "[" * 60 + "]" * 60}

HOSTS = {"list": "alpha,beta,local:2\n",
         "file": "alpha # first\nbeta ssh=me@10.0.0.7:2222 slots=2\ngamma job=ps addr=10.1.0.9 dfg=~/bin/dfg\n"
                 "local:2 port=7000-7010\nd tcp=[::1]:70\n"}

SSH = {"config": "Host alpha a*\n  HostName %h.example\n  Port 2222\n  User me\n  IdentityFile ~/.ssh/id_%r\n"
                 "  ProxyJump j1,me@j2:23\nMatch host alpha user me\n  IdentitiesOnly yes\nHost * !beta\n"
                 '  UserKnownHostsFile "/a b" /c\n  StrictHostKeyChecking accept-new\n  ConnectTimeout 3\n',
       "equals": "Host=alpha\nIdentityAgent=$AGENT\nProxyCommand nc %h %p\nHostKeyAlias x\nInclude more*\n"}

HTTP = {"get": "GET /v2/models/a?x=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "length": "POST /run HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\nExpect: 100-continue\r\n\r\nabc",
        "chunks": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n10\r\n0123456789abcdef\r\n"
                  "0\r\nx: y\r\n\r\n"}


def arrays():
    copy("npy", "tests/arrays/*.npy", 600)
    copy("npz", "tests/arrays/*.npz", 2000)
    copy("netcdf", "tests/arrays/*.nc", 2000)
    for path in glob.glob(f"{HERE}/netcdf/*netcdf4*"):
        os.remove(path)  # HDF5, which libhdf5 reads
    dfg("convert", f"{ROOT}/tests/arrays/stored.npz", "-o", "a.safetensors")
    save("safetensors", "stored", read("a.safetensors"))
    save("safetensors", "metadata", struct.pack("<Q", 88) +
         b'{"__metadata__":{"a":"b"},"x":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]}}      ' + b"abcd")
    save("idx", "bytes", bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + b"abcdef")
    save("idx", "floats", bytes([0, 0, 13, 1, 0, 0, 0, 1]) + b"\x3f\x80\0\0")


def folders():
    open("p.dfg", "w").write(PROGRAM)
    dfg("partition", "p.dfg", "--hosts", "local:1", "-o", "plan")
    save("plan", "one", two(read("plan/manifest.json"), read("plan/w0.pb")))
    dfg("partition", "p.dfg", "--hosts", "local:2", "--place", "z*=w1", "-o", "plan2")
    save("plan", "two", two(read("plan2/manifest.json"), read("plan2/w0.pb")))
    open("t.dfg", "w").write("input x: f32[3]\nparam w: f32[3] = zeros\nstate s: i64[] = 0\ntarget train { set w = w + x }\n")
    dfg("run", "t.dfg", "--feed", "x=zeros:f32[3]", "--target", "train", "--steps", "1", "--checkpoint", "ck")
    save("checkpoint", "one", two(read("ck/step-1/manifest.json"), read("ck/step-1/data.safetensors")))
    bundle = f"{ROOT}/tests/graphs/bundle"
    save("bundle", "recorded", two(read(bundle + ".index"), read(bundle + ".data-00000-of-00001")[:MOST]))


def wire():
    f32 = struct.pack("<2f", 1, 2)
    setup = packet(1, 2, 1, 0, "w0", "/job:worker/task:0", "shm", "127.0.0.1:1", "", "")
    messages = frame(0, head(0, 1, (2,), 7, 1, 8, (3,)) + f32) + frame(1, struct.pack("<Q", 1 << 20), 3)
    save("frames", "tensor", messages)
    save("frames", "control", frame(0, head(1, 4, (len(setup),), 2, 9, len(setup), (0,)) + setup) +
         frame(1, head(1, 1, (2,), 0, 10, 8, (0,)) + f32))
    save("frames", "strings", frame(0, head(0, 7, (2,), 7, 1, 19) + struct.pack("<QQ", 1, 2) + b"abc"))
    save("packets", "setup", setup)
    save("packets", "error", packet(65, 1, "node 'a': wrong"))


def graphs():
    copy("graphdef", "tests/graphs/*.pb", 2500)
    copy("graphdef", "tests/cases/flow/*/graph.pb", 600)
    copy("pbtxt", "tests/graphs/*.pbtxt", 6000)
    for name, text in LANGUAGE.items():
        save("language", name, text)
    copy("language", "examples/*.dfg", 1200)
    dfg("build", "-", "-o", "p.pb", text=PROGRAM)
    save("graphdef", "program", read("p.pb"))
    dfg("convert", "p.pb", "-o", "p.pbtxt")
    save("pbtxt", "program", read("p.pbtxt"))


def requests():
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    contents = field(6, struct.pack("<2f", 1, 2))
    tensor = field(1, b"x") + field(2, b"FP32") + field(3, b"\2")
    save("kserve", "contents", field(1, b"m") + field(3, b"id") + field(5, tensor + field(5, contents)) +
         field(6, field(1, b"y")))
    save("kserve", "raw", field(1, b"m") + field(5, tensor) + field(7, struct.pack("<2f", 1, 2)))
    proto = b"\x08\1" + field(2, field(2, b"\x08\2")) + field(5, struct.pack("<2f", 1, 2))
    save("predict", "predict", field(1, field(1, b"m") + field(2, b"\x08\1") + field(3, b"serving_default")) +
         field(2, field(1, b"x") + field(2, proto)) + field(3, b"y"))


def main():
    for target, texts in {"csv": CSV, "json": JSON, "hosts": HOSTS, "ssh_config": SSH, "http1": HTTP}.items():
        for name, text in texts.items():
            save(target, name, text)
    scratch = tempfile.mkdtemp()
    os.chdir(scratch)
    try:
        arrays()
        folders()
        wire()
        graphs()
        requests()
    finally:
        shutil.rmtree(scratch)


main()
