# `dfg check --rows` judges random programs with loops, arrays, branches and shapes: a row of a batch has the bits of that row alone.
. "$ROOT/tests/cli/kit"
PYTHONDONTWRITEBYTECODE=1 python3 "$ROOT/tests/cli/rows_random.py" "$DFG" "${1:-1}" "${2:-5}"
