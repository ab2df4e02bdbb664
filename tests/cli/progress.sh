# The progress that a terminal shows while a run is launched and trained, and the lines that remain after it; without a
# terminal there is none.
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
printf 'input x: f64[n]\ny = x * 2.0\noutput z = y + 1.0\n' >chain.dfg
cat >late <<END
#!/bin/sh
sleep 1.2
exec "$DFG" "\$@"
END
cat >never <<'END'
#!/bin/sh
sleep 0.8
echo 'no luck today' >&2
exit 7
END
chmod +x late never
printf 'local:1\nlocal:1 dfg=./late\n' >hosts
printf 'local:1 dfg=./late\nlocal:1 dfg=./never\n' >bad
cat >see.py <<'END'
import fcntl, os, pty, re, struct, subprocess, sys, termios

class Screen:
    """What stands on a terminal that is sent these bytes, and what has stood there."""
    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.lines, self.row, self.column = [""], 0, 0
        self.seen, self.bytes = [], ""
    def send(self, text):
        self.bytes += text
        for part in re.split(r"(\033\[[0-9]*[A-Za-z]|\r|\n)", text):
            if part == "\r":
                self.column = 0
            elif part == "\n":
                self.row += 1
                if self.row == len(self.lines):
                    self.lines.append("")
            elif part.startswith("\033"):
                self.obey(part[-1], part[2:-1])
            else:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[:self.column] + part + line[self.column + len(part):]
                self.column += len(part)
                assert self.column <= self.columns, "a line is wider than the terminal: %r" % self.lines[self.row]
        self.seen.append("\n".join(self.lines))
    def obey(self, what, number):
        if what == "A":
            self.row -= int(number)
            assert self.row >= 0, "above the first line"
        elif what == "J":
            del self.lines[self.row + 1:]
            self.lines[self.row] = self.lines[self.row][:self.column]
        else:
            assert what == "m", what

def run(arguments, status, rows=24, columns=80, **environment):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    everything = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    everything.update({"TERM": "xterm", **environment})
    child = subprocess.Popen([os.environ["DFG"]] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=theirs, env=everything)
    os.close(theirs)
    screen = Screen(rows, columns)
    while True:
        try:
            got = os.read(ours, 65536)
        except OSError:
            break
        if not got:
            break
        screen.send(got.decode())
    out = child.stdout.read().decode()
    assert child.wait() == status, (child.returncode, screen.bytes)
    return screen, out

chain = ["run", "chain.dfg", "--feed", "x=f64[1]:1", "--place", "y=w1"]

# The one that is late is waited for; then nothing is left but the result.
screen, out = run(chain + ["--hosts", "./hosts"], 0)
assert out == "z: f64[1]\n3\n", out
assert any(re.search(r"w0 +here .*\nw1 +here +[01]\.\d s +starting", s) for s in screen.seen), screen.bytes
assert screen.lines == [""], screen.lines

# Colors, where they are wanted.
screen, out = run(chain + ["--hosts", "./bad"], 69)
assert "\033[31m" in screen.bytes
screen, out = run(chain + ["--hosts", "./bad"], 69, NO_COLOR="1")
assert "\033[31m" not in screen.bytes
# The table shows the worker that failed, and the stage of the other.
rest = "\n".join(screen.lines)
assert re.search(r"w0 +here +\d\.\d s +starting|w0 +here +\d\.\d s +linking", rest), rest
assert re.search(r"w1 +here +[01]\.\d s +exited with status 7 \(no luck today\)\n[^\n]*w1: exited with status 7", rest), rest

# Narrow and low: cut, never scrolled.
screen, out = run(chain + ["--hosts", "./hosts"], 0, 2, 20)
assert any("w0" in s for s in screen.seen) and screen.lines == [""], screen.bytes

# A terminal that obeys nothing, -q and -v, and no terminal at all.
screen, out = run(chain + ["--hosts", "./hosts"], 0, TERM="dumb")
assert screen.bytes == "", screen.bytes
screen, out = run(chain + ["--hosts", "./hosts", "-q"], 0)
assert screen.bytes == "", screen.bytes
screen, out = run(chain + ["--hosts", "./hosts", "-v"], 0)
assert "\033" not in screen.bytes and "w1 (here): starting after 0." in screen.bytes and "w1 (here): ready after 1." in screen.bytes, screen.bytes
told = subprocess.run([os.environ["DFG"]] + chain + ["--hosts", "./hosts"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.PIPE, check=True).stderr
assert told == b"", told
told = subprocess.run([os.environ["DFG"]] + chain + ["--hosts", "./hosts", "-v"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.PIPE, check=True).stderr
assert b"w1 (here): ready after 1." in told and b"\033" not in told, told

# Training shows how far it is, as on one machine, and what is said meanwhile stands above it.
# Large steps, rather than many that wait for each other: these take their time on an idle machine and on a busy one.
train = ["run", sys.argv[1], "--feed", "x=ones:f32[1000000,2]", "--feed", "t=ones:f32[1000000,1]", "--feed",
         "train/lr=1e30", "--target", "train", "--fetch", "loss", "--steps", "100", "--threads", "1"]
for more in ([], ["--hosts", "local:2", "--place", "w*=w1"]):
    screen, out = run(train + more, 0)
    assert out.startswith("loss: f32[] "), out
    assert any(re.search(r"epoch 1  step \d+/100  loss .* steps/s", s) for s in screen.seen), screen.bytes
    assert screen.lines[-1] == "" and re.match("warning: 'loss' is (nan|inf) at step", screen.lines[0]), screen.lines
    assert len(screen.lines) == 2, screen.lines
END
python3 see.py "$ROOT/tests/graphs/linear.pbtxt"
