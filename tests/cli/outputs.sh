# Outputs that cannot be written are refused before the work: a path that is also an input or another output, a format that
# cannot represent the data, stdout for two outputs.
. "$ROOT/tests/cli/kit"
refused() { # WORDS COMMAND...: and nothing that is here changes
	words=$1
	shift
	cksum x.npy t.pb s.dfg >before
	status 2 "$@"
	has err "$words"
	cksum x.npy t.pb s.dfg | cmp - before || { echo "changed by: $*"; exit 1; }
}

printf 'input x: f32[n]\nparam w: f32[] = zeros\nparam v: f32[] = zeros\noutput loss = mean((w + v - x) ** 2)\n' >s.dfg
"$DFG" grad s.dfg --loss loss --optimizer 'sgd(lr=0.1)' -o t.pb
printf 'output x = zeros([1000])\n' | "$DFG" run - -o x.npy
train="$DFG run t.pb --data x=@x.npy --target train"

# Outputs that are inputs, or each other, under whatever name.
ln -s x.npy link
ln x.npy hard.json
refused '--metrics x.npy would replace --data x.npy' $train --fetch loss --metrics x.npy
refused '--metrics ./x.npy would replace --data x.npy' $train --fetch loss --metrics ./x.npy
refused '--metrics link would replace --data x.npy' $train --fetch loss --metrics link
refused '--metrics hard.json would replace --data x.npy' $train --fetch loss --metrics hard.json
rm link hard.json
refused '--trace t.pb would replace the graph t.pb' $train --trace t.pb
refused '--save ./same.npz would replace -o same.npz' $train --fetch loss -o same.npz --save ./same.npz
refused '-o x.npy would replace --feed x.npy' "$DFG" run t.pb --feed x=@x.npy --fetch loss -o x.npy
refused '-o s.dfg would replace the program s.dfg' "$DFG" build s.dfg -o s.dfg
refused '-MF s.dfg would replace the program s.dfg' "$DFG" build s.dfg -o s.pb -MD -MF s.dfg
refused '-MF s.pb would replace -o s.pb' "$DFG" build s.dfg -o s.pb -MD -MF s.pb
refused '-o s.dfg would replace the program s.dfg' "$DFG" grad s.dfg --of loss -o s.dfg
never test -e s.pb -o -e same.npz
status 0 $train --save w.npz
status 0 $train --load w.npz --save w.npz

# A file that cannot hold what is meant for it.
for name in w.npy w.csv w.idx -; do
	refused "--save $name: variables are saved to a .safetensors or .npz" $train --save $name
done
refused '-o o.npy holds one array, but 2 are fetched' "$DFG" run t.pb --feed x=@x.npy --fetch loss,w -o o.npy

# Stdout holds one thing.
refused '--metrics - and the results both need stdout' $train --fetch loss --metrics -
refused '--trace - and the results both need stdout' "$DFG" run t.pb --feed x=@x.npy --trace -
refused '--trace - and --metrics - both need stdout' $train --metrics - --trace -
status 0 $train --fetch loss -o o.npy --metrics -
has out '"step":1,'

# Options that say nothing, or two things.
refused '--clip-norm must be more than 0' "$DFG" grad s.dfg --loss loss --optimizer 'sgd(lr=0.1)' --clip-norm 0
refused '--no-shuffle' $train --no-shuffle --shuffle 0
refused '--checkpoint' "$DFG" run t.pb --data x=@x.npy --fetch loss --checkpoint c
never test -e c

# Memory that is short is short of the limit.
status 71 "$DFG" run t.pb --feed x=@x.npy --fetch loss --memory-limit 100
has err 't.pb: out of memory (--memory-limit is 100)'
status 71 "$DFG" run t.pb --feed x=@x.npy --fetch loss --memory-limit 40000
has err 't.pb: '
has err '(--memory-limit is 40000)'

# Within an epoch, a training continues in the order of samples in which it began; between epochs, another may be chosen.
train="$train --batch 100 --checkpoint ck"
status 0 $train --steps 13 --shuffle 3
cp -r ck within
within() { # WORDS OPTION...
	words=$1
	shift
	status 65 $train --steps 20 --resume "$@"
	has err "$words"
	diff -r -x .lock ck within || { echo "changed by: $*"; exit 1; }
}
within 'ck was made with --batch 100, but this run has --batch 50' --shuffle 3 --batch 50
within 'ck was made with --shuffle 3, but this run has --shuffle 0'
within 'ck was made with --shuffle 3, but this run has --no-shuffle' --no-shuffle
within 'ck was made with no --drop-last, but this run has --drop-last' --shuffle 3 --drop-last
printf 'output x = zeros([900])\n' | "$DFG" run - -o less.npy
status 65 "$DFG" run t.pb --data x=@less.npy --target train --batch 100 --checkpoint ck --steps 20 --resume --shuffle 3
has err 'ck was made with data of 1000 samples, but this run has data of 900 samples: they must be equal, as the run continues within an epoch, at sample 300'
status 0 $train --steps 20 --resume --shuffle 3
status 0 $train --steps 25 --resume --no-shuffle --batch 50
has err 'warning: ck was made with --batch 100, but this run has --batch 50'
has err 'warning: ck was made with --shuffle 3, but this run has --no-shuffle'

# A checkpoint that does not tell is gone on from.
python3 - <<'END'
import glob, json, zlib
for name in glob.glob("within/step-*/manifest.json"):
    manifest = json.load(open(name))
    del manifest["order"], manifest["crc32"]
    text = json.dumps(manifest, separators=(",", ":"))[:-1]
    open(name, "w").write('%s,"crc32":%d}\n' % (text, zlib.crc32(text.encode())))
END
status 0 "$DFG" run t.pb --data x=@x.npy --target train --batch 50 --steps 20 --checkpoint within --resume

# The rule of -MD is an output like others, and what is wrong with it is found before the graph is written.
refused '-MD without -o requires -MF and -MT' "$DFG" build s.dfg -MD
refused '-MF, -MT and -MP require -MD' "$DFG" build s.dfg -MF rule -o s.pb
cp s.dfg s.d
refused '-MD s.d would replace the program s.d' "$DFG" build s.d -o s -MD
status 73 "$DFG" build s.dfg -o s.pb -MD -MF nowhere/rule
never test -e s.pb -o -e s
status 0 "$DFG" build s.dfg -o s.pb -MD
has s.pb.d 's.pb: s.dfg'

# Options that say nothing beside the others are not passed over.
once="$DFG run t.pb --feed x=@x.npy --fetch loss"
for option in '--batch 3' '--shuffle 1' --no-shuffle --drop-last '--eval-data x=@x.npy'; do
	refused ' requires --data' $once $option
done
refused '--keep requires --checkpoint' $once --keep 3
refused '--times requires --metrics' $once --times
refused '--if-changed requires --output or --save' $once --if-changed
refused '--eval-data requires --eval-fetch' "$DFG" run t.pb --data x=@x.npy --target train --eval-data x=@x.npy
refused '--warmup' "$DFG" run t.pb --data x=@x.npy --target train --warmup 3
refused '--each cannot be used with --data, --steps or --repeat' "$DFG" run t.pb --each x=@- --fetch loss --data x=@x.npy
refused '--json and -o - both need stdout' $once -o - --json
refused '-o out.npz: no tensor is fetched' "$DFG" run t.pb --data x=@x.npy --target train -o out.npz
refused "'x' is given two files of samples" "$DFG" run t.pb --data x=@x.npy --data x=@x.npy --target train
refused "'x:0' is given two files of samples" "$DFG" run t.pb --data x=@x.npy --target train --eval-fetch loss \
	--eval-data x=@x.npy --eval-data x:0=@x.npy
status 0 sh -c '"$0" run t.pb --each x=@- --fetch loss --stats <x.npy' "$DFG"
never grep -qx 'peak_bytes 0' err
