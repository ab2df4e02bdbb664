# More rounds of what tests/net/rounds.sh does.
ROUNDS=${ROUNDS:-8} SEED=${SEED:-7}
. "$ROOT/tests/net/rounds.sh"
