# 6. Each recorded training, its feeds as data files: one step over 3 shards gives what one over the whole batch gives, or
# is refused. 8. A clip of another program's graph acts on each shard, unless the tensors before it are named.
. "$ROOT/tests/cli/kit"

python3 - "$ROOT" <<'PY' >cases
import ast, glob, json, os, struct, sys, zipfile
for folder in sorted(glob.glob(sys.argv[1] + "/tests/cases/train/*")):
    for step in json.load(open(folder + "/case.json"))["steps"]:
        if "feeds" not in step or not step.get("targets") or step["targets"] == ["init"]:
            continue
        path = folder + "/" + step["feeds"]
        names, options = zipfile.ZipFile(path), []
        for member in names.namelist():
            head = names.read(member)
            shape = ast.literal_eval(head[10:10 + struct.unpack("<H", head[8:10])[0]].decode())["shape"]
            name = member[:-4]
            options.append("--%s %s=@%s[%s]" % ("data" if shape else "feed", name, path, name))
        print(os.path.basename(folder), ",".join(step["targets"]), ",".join(step["fetch"]) if step.get("fetch") else "-", *options)
        break
PY
ran=0
while read -r name targets fetch options; do
	graph=$ROOT/tests/cases/train/$name/graph.pb
	[ "$fetch" = - ] && fetch=
	# shellcheck disable=SC2086
	step() { # FILE OPTIONS...
		file=$1
		shift
		"$DFG" run "$graph" $options --init init --target "$targets" ${fetch:+--fetch "$fetch"} --batch 1000 --no-shuffle --save "$file" "$@"
	}
	case $name in
	accumulate | embedding-adagrad | factorise-ftrl | two-optimizers) # own targets, and sparse gradients
		status 65 step three.npz --shards 3
		has err "would be assigned a value of one shard (path '"
		continue
		;;
	batchnorm-moving) # its gradients wait for its moving averages; the statistics are those of a shard
		status 0 step one.npz
		status 0 step three.npz --shards 3
		status 0 step again.npz --shards 3 --bucket 0 --threads 1
		cmp three.npz again.npz
		status 1 "$DFG" diff one.npz three.npz --rtol 1e-4 --atol 1e-5
		has out bn/variance
		never grep -q bn/mean out # the mean of the shards' means
		continue
		;;
	clip-global-norm)
		status 0 step one.npz
		status 0 step three.npz --shards 3
		has err "'fc2/b', each clipped in its own shard; to average before the clip, name the unclipped gradients with --gradients"
		status 1 "$DFG" diff one.npz three.npz --rtol 1e-4 --atol 1e-5
		continue
		;;
	esac
	status 0 step one.npz
	mv out one.out
	status 0 step three.npz --shards 3
	"$DFG" diff one.npz three.npz --rtol 1e-4 --atol 1e-5 || { echo "$name differs"; exit 1; }
	# 6, 15. The same bits on replicas, the variables of these graphs being references and resources.
	mv out three.out
	status 0 step replicas.npz --shards 3 --replicas $((2 + ran % 2)) --hosts "local:$((2 + ran % 2))"
	cmp three.out out
	cmp three.npz replicas.npz
	ran=$((ran + 1))
done <cases
[ "$ran" -gt 12 ]
