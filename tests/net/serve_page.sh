# The page of dfg serve in a browser without a window: Debian's chromium, driven over pipes. Says so where it is absent.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

if ! command -v chromium >where; then
	echo "chromium is absent: apt-get install chromium"
	exit 0
fi
cat >try.dfg <<'X'
input x: f32[batch, 3]
input image: u8[batch, 28, 28]
w = loop (s = 0.0) for t in 0..3 {
	next s + 1
}
layer deep(w)(x) {
	x * w * 2 - x * w
}
output y = deep(w)(x) + 1
output picture = 255 - i32(image)
X
start try.dfg
python3 - "$url" <<'X'
import base64, json, os, subprocess, sys, tempfile, time, zlib

to_read, to_write = os.pipe()
from_read, from_write = os.pipe()

def pipes():
    os.dup2(os.dup(to_read), 3)
    os.dup2(os.dup(from_write), 4)

folder = tempfile.mkdtemp(dir=".")
# Its sandbox does not work for root, nor in many containers.
browser = subprocess.Popen(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--user-data-dir=" + os.path.abspath(folder), "--window-size=1000,1600", "--remote-debugging-pipe", "about:blank"], preexec_fn=pipes,
    close_fds=False, stdout=subprocess.DEVNULL, stderr=open("chromium.log", "w"))
os.close(to_read), os.close(from_write)
reads, count, faults, rest = os.fdopen(from_read, "rb", 0), 0, [], b""

def message():
    global rest
    while b"\0" not in rest:
        piece = reads.read(1 << 16)
        assert piece, "the browser has ended"
        rest += piece
    text, rest = rest.split(b"\0", 1)
    return json.loads(text)

session = None
def call(method, **parameters):
    global count
    count += 1
    request = {"id": count, "method": method, "params": parameters}
    if session:
        request["sessionId"] = session
    os.write(to_write, json.dumps(request).encode() + b"\0")
    while True:
        answer = message()
        if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
            faults.append(answer["params"])
        if answer.get("id") == count:
            assert "error" not in answer, (method, answer)
            return answer["result"]

def value(expression):
    result = call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
    assert "exceptionDetails" not in result, (expression, result)
    return result["result"].get("value")

def until(expression):
    end = time.monotonic() + 60
    while not value(expression):
        assert time.monotonic() < end, (expression, value("document.body.innerText"))
        time.sleep(0.05)

def key(name, code, text=""):
    for kind in "keyDown", "keyUp":
        call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, text=text if kind == "keyDown" else "")

def screenshot():
    """Rows of pixels of the window, decoded by hand: 8 bits, RGB or RGBA, not interlaced."""
    data, at, body = base64.b64decode(call("Page.captureScreenshot", format="png")["data"]), 8, b""
    while at < len(data):
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        if kind == b"IHDR":
            width, height, depth, colour = int.from_bytes(data[at + 8:at + 12], "big"), int.from_bytes(data[at + 12:at + 16], "big"), data[at + 16], data[at + 17]
        if kind == b"IDAT":
            body += data[at + 8:at + 8 + size]
        at += 12 + size
    assert depth == 8 and colour in (2, 6)
    n, body, rows = 3 if colour == 2 else 4, zlib.decompress(body), []
    before = bytearray(n * width)
    for y in range(height):
        line = bytearray(body[y * (n * width + 1) + 1:(y + 1) * (n * width + 1)])
        kind = body[y * (n * width + 1)]
        for i in range(len(line) if kind else 0):
            a, b, c = line[i - n] if i >= n else 0, before[i], before[i - n] if i >= n else 0
            p = a + b - c
            paeth = a if abs(p - a) <= abs(p - b) and abs(p - a) <= abs(p - c) else b if abs(p - b) <= abs(p - c) else c
            line[i] = (line[i] + (0, a, b, (a + b) // 2, paeth)[kind]) & 255
        rows.append(line)
        before = line
    return n, rows

target = call("Target.createTarget", url="about:blank")["targetId"]
session = call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
for domain in "Page", "Runtime", "Log":
    call(domain + ".enable")
call("Page.navigate", url=sys.argv[1] + "/")
until("document.querySelectorAll('#inputs textarea').length === 2")

# The form names its controls as the inputs, with a label each; all can be reached by keys.
assert value("[...document.querySelectorAll('textarea')].map(a => a.labels[0].textContent).join()") == "x,image"
value("document.querySelector('textarea[name=x]').focus()")
call("Input.insertText", text="[[1, 2, 3], [4, 5, 6]]")
value("document.querySelector('textarea[name=image]').value = JSON.stringify([Array.from({length: 28}, (_, i) => Array(28).fill(9 * i))])")
value("document.querySelector('form button').focus()")
key("Enter", 13, "\r")
until("document.querySelector('#state').textContent.startsWith('done')")
output = lambda name: json.loads(value(f"document.querySelector('output[name={name}]').value"))
assert output("y") == [[4, 7, 10], [13, 16, 19]], output("y")
assert output("picture") == [[[255 - 9 * i] * 28 for i in range(28)]]
# An output of 28x28 is drawn, pixel by pixel.
pixels = value("(() => { const c = document.querySelector('.picture canvas'); return [...c.getContext('2d').getImageData(0, 0, 28, 28).data]; })()")
assert pixels == [255 if k == 3 else 255 - 9 * (i // 28) for i in range(784) for k in range(4)]
# A mistake is told in words, in an element that screen readers announce.
value("document.querySelector('textarea[name=x]').value = '[[1, 2]]'")
value("document.querySelector('form button').click()")
until("document.querySelector('#state').className === 'bad'")
assert "input 'x': its value is f32[1,2], expected f32[?,3]" in value("document.querySelector('#state').textContent")
assert value("document.querySelector('#state').getAttribute('role')") == "status"

# The graph: its loop and its scope are boxes, which fold and unfold.
nodes = "document.querySelectorAll('#graph g.node').length"
until("document.querySelectorAll('#graph g.cluster').length >= 2")
assert "loop" in value("document.querySelector('#graph').textContent")
unfolded = value(nodes)
link = "[...document.querySelectorAll('#graph a')].find(a => (a.getAttribute('aria-label') || '').startsWith('%s'))"
value((link % "fold deep") + ".dispatchEvent(new MouseEvent('click', {cancelable: true, bubbles: true}))")
until("!!" + link % "unfold deep")
assert value(nodes) < unfolded or "1 node" in value("document.querySelector('#graph').textContent")
value((link % "unfold deep") + ".dispatchEvent(new MouseEvent('click', {cancelable: true, bubbles: true}))")
until("!!" + link % "fold deep")
assert value(nodes) == unfolded

# The curves follow the load.
until("(document.querySelector('#rate path').getAttribute('d') || '').length > 10")

# Light and dark: the page's own colours, as they appear.
for scheme, is_right in ("light", lambda x: x > 200), ("dark", lambda x: x < 80):
    call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    n, rows = screenshot()
    assert is_right(max(rows[5][0:3])), (scheme, rows[5][:12])
    dark = sum(sum(row[i:i + 3]) < 384 for row in rows[:400:4] for i in range(0, len(row), 4 * n))
    share = dark / (100 * len(rows[0]) / (4 * n))
    assert 0.002 < (share if scheme == "light" else 1 - share) < 0.5, (scheme, share) # there is text, and it differs from the background
# A narrow window does not scroll sideways.
call("Emulation.setDeviceMetricsOverride", width=360, height=700, deviceScaleFactor=1, mobile=True)
assert value("document.documentElement.scrollWidth") <= 360, value("document.documentElement.scrollWidth")
faults = [f for f in faults if "422" not in f.get("entry", {}).get("text", "")] # the mistake of above
assert not faults, faults
call("Browser.close")
browser.wait(60)
X
stop
