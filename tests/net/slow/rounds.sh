# More rounds of what tests/net/rounds.sh does.
ROUNDS=16 SEED=7
. "$ROOT/tests/net/rounds.sh"
