# A disk that is full, of a machine or of the launcher: no incomplete file is left on it, and with free space the run continues.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"
# shellcheck source=tests/net/training
. "$ROOT/tests/net/training"

machine alpha 10.77.0.11
mkdir -p beta/tmp
mount -t tmpfs -o size=1m tmpfs beta/tmp
machine beta 10.77.0.12
make_training 400

# There is no space for the program that is sent.
rm beta/bin/dfg
expect 69 "beta: dfg ended with status 74: no space for dfg in $HERE/beta/tmp" train alpha,beta --push
nothing_left alpha beta
mount -o remount,size=100m beta/tmp
expect 0 '' train alpha,beta --push --save w.safetensors
cmp w.safetensors whole.safetensors
ln -s "$DFG" beta/bin/dfg

# There is no space for a checkpoint: earlier ones are complete; a restart would not help, free space does.
mkdir ck
mount -t tmpfs -o size=20k tmpfs ck
expect 74 'ck/step-' train alpha,beta --checkpoint ck --every 20 --restarts 3
grep -q 'No space left on device' out
never grep -q 'restarting' out
nothing_left alpha beta
only_whole ck
before=$(ls ck)
[ -n "$before" ]
mount -o remount,size=10m ck
expect 0 'resumed at step' train alpha,beta --checkpoint ck --every 20 --resume --save w.safetensors
cmp w.safetensors whole.safetensors
only_whole ck
nothing_left alpha beta
