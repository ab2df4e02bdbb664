# Usage, help and exit codes of the program itself.
. "$ROOT/tests/cli/kit"

status 0 "$DFG"
has out 'usage: dfg'
status 0 "$DFG" --help
status 0 "$DFG" help exit
has out ' 65  a bad graph'
status 0 "$DFG" help ops
has out '--json'
status 0 "$DFG" ops -h
has out 'usage: dfg ops'
status 2 "$DFG" help osp
has err "did you mean 'ops'?"
status 2 "$DFG" oops
has err "no command 'oops'"
status 2 "$DFG" ops --jsno
has err "did you mean '--json'?"
status 2 "$DFG" ops one two
has err "unexpected operand 'two'"
[ ! -s out ]
status 1 "$DFG" ops Swich
has err "did you mean 'Switch'?"
status 0 "$DFG" ops Switch
has out 'pred: bool'
status 0 "$DFG" ops --json
python3 -m json.tool out >/dev/null

# The ops that a graph requires and dfg does not have, those of functions that it reaches included.
cat >missing.pbtxt <<'X'
node { name: "a" op: "NoSuchB" }
node { name: "b" op: "NoSuchA" input: "a" }
node { name: "c" op: "NoSuchA" input: "b" }
node { name: "d" op: "f" }
node { name: "e" op: "NoOp" attr { key: "_g" value { func { name: "g" } } } }
library {
  function { signature { name: "f" } node_def { name: "n" op: "NoSuchA" } node_def { name: "m" op: "NoSuchD" } }
  function { signature { name: "g" } node_def { name: "n" op: "NoSuchC" } node_def { name: "f" op: "f" } }
  function { signature { name: "unused" } node_def { name: "n" op: "NoSuchE" } }
}
X
status 1 "$DFG" ops --missing missing.pbtxt
printf 'NoSuchA 3\nNoSuchB 1\nNoSuchC 1\nNoSuchD 1\n' | cmp - out
status 1 "$DFG" ops --missing missing.pbtxt --json
[ "$(python3 -c 'import json; print([(x["name"], x["nodes"]) for x in json.load(open("out"))][:2])')" = \
	"[('NoSuchA', 3), ('NoSuchB', 1)]" ]
printf 'input x: f32[]\noutput y = x * 2.0\n' >nothing-missing.dfg
status 0 "$DFG" ops --missing nothing-missing.dfg
[ ! -s out ]
status 0 "$DFG" ops --missing nothing-missing.dfg --json
[ "$(cat out)" = '[]' ]
status 2 "$DFG" ops --missing nothing-missing.dfg Switch
has err "leave out 'Switch'"
status 66 "$DFG" ops --missing none.pb
status 0 "$DFG" version --json
python3 -m json.tool out >/dev/null
status 66 "$DFG" -C /nonexistent ops
status 74 sh -c '"$0" ops >/dev/full' "$DFG"
printf 'output y = 1\n' >one.dfg
printf 'output y = 2\n' >two.dfg
status 1 "$DFG" diff one.dfg two.dfg
status 74 sh -c '"$0" diff one.dfg two.dfg >/dev/full' "$DFG"

# A file that is replaced keeps its permissions, and a link to it stays a link; a new file is as the mask has it.
mkdir kept
printf 'input x: f32[]\noutput y = x*2.0\n' >kept/a.dfg
chmod 600 kept/a.dfg
ln -s kept/a.dfg link.dfg
ln -s kept/new.pb link.pb
ln -s round round
status 0 "$DFG" fmt -w link.dfg
has kept/a.dfg 'x * 2.0'
[ "$(stat -c %a kept/a.dfg)" = 600 ]
[ "$(readlink link.dfg)" = kept/a.dfg ]
(umask 027 && status 0 "$DFG" build link.dfg -o link.pb)
[ "$(readlink link.pb)" = kept/new.pb ]
[ "$(stat -c %a kept/new.pb)" = 640 ]
chmod 604 kept/new.pb
status 0 "$DFG" build link.dfg -o link.pb
[ "$(stat -c %a kept/new.pb)" = 604 ]
status 73 "$DFG" build link.dfg -o round
[ "$(readlink round)" = round ]
[ "$(ls -A kept)" = "$(printf 'a.dfg\nnew.pb')" ]

# If one of several programs cannot be read, none is printed.
printf 'input x: f32[' >bad.dfg
status 65 "$DFG" fmt link.dfg bad.dfg
status 2 "$DFG" fmt -w --check link.dfg
touch -d @1000 link.dfg
status 0 "$DFG" fmt -w --if-changed link.dfg
[ "$(stat -L -c %Y link.dfg)" = 1000 ]
status 2 "$DFG" fmt --if-changed link.dfg
status 2 "$DFG" partition link.dfg --swap .
has err "unknown option '--swap', which only these commands have: diff, "
status 0 "$DFG" fmt link.dfg link.dfg
[ "$(grep -c 'x \* 2.0' out)" = 2 ]

# If stdout is closed, a file that the run opens does not take its place as descriptor 1.
printf 'param w: f32[] = zeros\noutput loss = w ** 2\n' | "$DFG" grad - --loss loss --optimizer 'sgd(lr=0.1)' -o step.pb
status 74 sh -c '"$0" run step.pb --target train --fetch loss --steps 1 --metrics m.jsonl >&-' "$DFG"
[ "$(cat m.jsonl)" = '{"step":1,"epoch":1,"loss":0}' ]

# No message about a file contains a control character for the terminal, of one byte or of two.
status 66 "$DFG" check "$(printf 'a\033[31m\302\233b\233\303\251')"
has err 'a\x1b[31m\xc2\x9bb\x9bé: No such file'

# A number that means "not given" within the program is out of range for a user.
for option in --threads --memory-limit --replicas --shards; do
	status 2 "$DFG" run one.dfg $option 0
	has err "$option must be at least 1, not '0'"
done
status 2 "$DFG" build one.dfg -o one.pb --memory-limit 0
has err "--memory-limit must be at least 1, not '0'"
status 2 "$DFG" partition one.dfg --hosts local:2 --shards 0 -o plan
has err "--shards must be at least 1, not '0'"
