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
has err "one operand too many: 'two'"
[ ! -s out ]
status 1 "$DFG" ops Swich
has err "did you mean 'Switch'?"
status 0 "$DFG" ops Switch
has out 'pred: bool'
status 0 "$DFG" ops --json
python3 -m json.tool out >/dev/null
status 0 "$DFG" version --json
python3 -m json.tool out >/dev/null
status 66 "$DFG" -C /nonexistent ops
status 74 sh -c '"$0" ops >/dev/full' "$DFG"
