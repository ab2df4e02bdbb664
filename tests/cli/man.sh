# The examples of every page and of the README: a line "$ command" is run, the lines below it are what it must print ("..."
# stands for any lines). They run in one folder a page, with the examples' programs in it.
for page in "$ROOT"/man/* "$ROOT/README.md"; do
	name=$(basename "$page" .in)
	rm -rf page && mkdir page && cp -r "$ROOT"/examples/. page/ && mkdir -p page/cases && cp -r "$ROOT"/tests/cases/ops/A* page/cases/
	(cd page && python3 - "$page" "$name" <<'PY'
import fnmatch, os, re, subprocess, sys
text = open(sys.argv[1]).read()
if sys.argv[2] == 'README.md':
    text = '.Sh EXAMPLES' + text.replace('```console', '.Bd -literal').replace('```', '.Ed').replace('\\', '\\e')
lines = text.split('.Sh EXAMPLES')[-1].splitlines() if '.Sh EXAMPLES' in text else []
examples, inside = [], False
for line in lines:
    if line.startswith('.Bd -literal'):
        inside = True
    elif line.startswith('.Ed'):
        inside = False
    elif inside:
        line = line.replace('\\-', '-').replace('\\e', '\\').replace('\\&', '')
        if line.startswith('$ '):
            examples.append([line[2:], []])
        elif line.startswith('> ') and examples and not examples[-1][1]:
            examples[-1][0] += '\n' + line[2:]
        elif examples:
            examples[-1][1].append(line)
shell = 'dfg() { "$DFG" "$@"; }\n'
for command, want in examples:
    run = subprocess.run(['bash', '-c', shell + command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    got = run.stdout.rstrip('\n')
    pattern = '\n'.join(re.escape(w) if w != '...' else '(?:.*\n)*.*' for w in want).rstrip('\n')
    if want and not re.fullmatch(pattern, got) or run.returncode and not want:
        print(f'{sys.argv[2]}: $ {command}\nprinted (status {run.returncode})\n{got}\n{run.stderr}not\n' + '\n'.join(want))
        sys.exit(1)
PY
	)
done
# Quotes end where what is quoted ends.
if command -v man >/dev/null; then
	man -l "$ROOT/man/dfg-lang.5" 2>/dev/null | col -b >lang
	for words in 'import "file" [as name]' 'on "device" { ... }' 'assert c, "words"'; do
		grep -qF -- "$words" lang || { echo "dfg-lang.5: no $words"; exit 1; }
	done
fi
# A quote that begins an argument is lost: JSON in a page has \(dq.
if grep -nE '^\.Ql .* "' "$ROOT"/man/*; then exit 1; fi
# Every command has a page, and every page a command.
"$DFG" __complete | cut -f1 | while read -r command; do
	[ -e "$ROOT/man/dfg-$command.1.in" ] || { echo "no page dfg-$command.1"; exit 1; }
done
