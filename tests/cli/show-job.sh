# A plan starts elsewhere: the hostfile of mpirun, and a manifest of Kubernetes.
. "$ROOT/tests/cli/kit"
printf 'input x: f32[n]\nparam w: f32[] = zeros\noutput loss = mean((w - x) ** 2)\n' >m.dfg
"$DFG" grad m.dfg --loss loss --optimizer 'sgd(lr=0.125)' -o t.pb
"$DFG" partition t.pb --hosts local:4 --replicas 4 -o four/
"$DFG" partition t.pb --hosts local:2 --replicas 2 -o two/
"$DFG" partition t.pb --hosts local:2 --place 'x=w1' --place '*=w0' -o cut/

# One line for each worker, which every mpirun reads alike.
status 0 "$DFG" show four/ --hostfile
[ "$(sort out | uniq -c | tr -s ' ')" = ' 4 localhost' ]
status 0 "$DFG" show four/ --hostfile --replicas 2
[ "$(sort out | uniq -c | tr -s ' ')" = ' 2 localhost' ]
status 0 "$DFG" show cut/ --hostfile
[ "$(wc -l <out)" = 2 ]
printf 'alpha slots=2\nbeta ssh=me@10.0.0.7:2222\nlocal:1\n' >hosts
status 0 "$DFG" show four/ --hostfile --hosts ./hosts
[ "$(tr '\n' ' ' <out)" = 'alpha alpha 10.0.0.7 localhost ' ]
status 0 "$DFG" show four/ --hostfile
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for mpirun in mpirun.openmpi mpirun.mpich; do
	! command -v $mpirun >/dev/null || [ "$(timeout 100 $mpirun -hostfile out -n 4 echo rank | grep -c rank)" = 4 ]
done
status 65 "$DFG" show four/ --hostfile --hosts local:3
has err '--hosts has 3 workers, but 4 replicas of 1 part need 4'
status 65 "$DFG" show four/ --hostfile --replicas 5
has err "--replicas 5 is more than the plan's 4 shards"
status 65 "$DFG" show t.pb --hostfile
has err '--hostfile does not apply to a graph'
status 65 "$DFG" show t.pb --kubernetes x
status 2 "$DFG" show two/ four/ --hostfile
status 2 "$DFG" show two/ --hostfile --kubernetes x
status 2 "$DFG" show two/ --replicas 2
status 2 "$DFG" show two/ --kubernetes x --hosts local:2
status 2 "$DFG" show two/ --kubernetes x --json
for image in '' 'a b' 'a
b' '-x' 'x:' '"x"' 'x#y' "$(printf '%0501d' 0)"; do
	status 2 "$DFG" show two/ --kubernetes "$image"
done

# The manifest, to the letter.
status 0 "$DFG" show two/ --kubernetes registry.example:5000/team/dfg:0.1
cp out manifest
cat >golden <<'X'
# The workers, 2, and the launcher of a plan. The secret is made once:
#     openssl rand -hex 32 >secret && kubectl create secret generic dfg --from-file=secret
apiVersion: v1
kind: Service
metadata:
  name: dfg
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    app: dfg
  ports:
  - name: tensors
    port: 7000
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: dfg-hosts
data:
  hosts: |
    dfg-0 tcp=dfg-0.dfg:7000
    dfg-1 tcp=dfg-1.dfg:7000
---
apiVersion: batch/v1
kind: Job
metadata:
  name: dfg
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  template:
    metadata:
      labels:
        app: dfg
    spec:
      subdomain: dfg
      restartPolicy: OnFailure
      automountServiceAccountToken: false
      containers:
      - name: worker
        image: registry.example:5000/team/dfg:0.1
        command: [dfg]
        args:
        - "serve"
        - "--worker"
        - "--secret-file"
        - "/etc/dfg/secret/secret"
        - "--number"
        - "$(JOB_COMPLETION_INDEX)"
        - "--host"
        - "0.0.0.0"
        - "--port"
        - "7000"
        - "--wait"
        - "900"
        ports:
        - containerPort: 7000
        volumeMounts:
        - name: secret
          mountPath: /etc/dfg/secret
          readOnly: true
      volumes:
      - name: secret
        secret:
          secretName: dfg
          defaultMode: 256
---
apiVersion: batch/v1
kind: Job
metadata:
  name: dfg-launcher
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      containers:
      - name: launcher
        image: registry.example:5000/team/dfg:0.1
        command: [dfg]
        args:
        # The plan is /plan in the image. Add --data, --fetch, --target and so on.
        - "run"
        - "/plan"
        - "--hosts"
        - "/etc/dfg/hosts/hosts"
        - "--secret-file"
        - "/etc/dfg/secret/secret"
        - "--replicas"
        - "2"
        - "--timeout"
        - "900"
        volumeMounts:
        - name: secret
          mountPath: /etc/dfg/secret
          readOnly: true
        - name: hosts
          mountPath: /etc/dfg/hosts
          readOnly: true
      volumes:
      - name: secret
        secret:
          secretName: dfg
          defaultMode: 256
      - name: hosts
        configMap:
          name: dfg-hosts
X
cmp out golden
status 0 "$DFG" show four/ --kubernetes x --replicas 3
has out 'completions: 3'
has out 'dfg-2 tcp=dfg-2.dfg:7000'
never grep -q 'dfg-3' out
printf 'local:1\nlocal:1 job=ps\n' >ps-hosts
"$DFG" partition t.pb --hosts ./ps-hosts --sync ps -o servers/
status 65 "$DFG" show servers/ --kubernetes x
has err "/job:ps/task:0/device:CPU:0 is not of job 'worker'"

# The jobs do what they say: their commands train here, where each pod is a process with a port of its own.
python3 -c 'import yaml' 2>/dev/null || exit 0
cat >pods.py <<'X'
# Reads the manifest as Kubernetes does, and prints the command of each pod and the hosts file.
import sys, yaml
folder, port = sys.argv[1], int(sys.argv[2])
service, hosts, workers, launcher = yaml.safe_load_all(open("manifest"))
job, pod = workers["spec"], workers["spec"]["template"]["spec"]
assert service["spec"]["clusterIP"] == "None" and service["kind"] == "Service"
assert service["spec"]["selector"].items() <= workers["spec"]["template"]["metadata"]["labels"].items()
assert pod["subdomain"] == service["metadata"]["name"] and job["completionMode"] == "Indexed"
listening = service["spec"]["ports"][0]["port"]
def command(spec, index):
    container = spec["containers"][0]
    mounts = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
    assert {v["name"] for v in spec["volumes"]} == set(mounts)
    text = [a.replace("$(JOB_COMPLETION_INDEX)", str(index)) for a in container["args"]]
    text = [a.replace(mounts["secret"], folder).replace(mounts.get("hosts", "\0"), folder) for a in text]
    return [str(port + index) if a == str(listening) else "127.0.0.1" if a == "0.0.0.0" else a for a in text]
secret = pod["volumes"][0]["secret"]
assert secret["defaultMode"] == 0o400 and secret["secretName"] == "dfg"
for index in range(job["completions"]):
    print(*command(pod, index))
print(*command(launcher["spec"]["template"]["spec"], 0))
with open("hosts", "w") as file:
    for line in hosts["data"]["hosts"].splitlines():
        name, address = line.split()
        index = int(name.rsplit("-", 1)[1])
        assert address == f"tcp={workers['metadata']['name']}-{index}.{pod['subdomain']}:{listening}"
        print(name, f"tcp=127.0.0.1:{port + index}", file=file)
X
(umask 077; seq -s- 100 130 >secret)
free() { # COUNT: the first of as many free ports
	python3 -c 'import socket, sys
for port in range(23000 + '$$' % 20000, 60000, 7):
    try:
        [socket.create_server(("127.0.0.1", port + i)).close() for i in range(int(sys.argv[1]))]
    except OSError:
        continue
    print(port)
    break' "$1"
}
python3 pods.py "$PWD" "$(free 2)" | sed 's/--wait 900/--wait 60/' >commands
[ "$(wc -l <commands)" = 3 ]
seq -s, 0.25 1 15.25 >values
"$DFG" run m.dfg --feed "x=f32[16]:$(cat values)" --fetch x -o x.npy
training='--data x=@x.npy --batch 8 --target train --fetch loss'
# shellcheck disable=SC2086,SC2046
{
	status 0 "$DFG" run t.pb $training --shards 2 --save one.npz
	head -2 commands | while read -r line; do
		"$DFG" $line </dev/null >/dev/null 2>>workers.err &
	done
	status 0 timeout 100 "$DFG" $(sed -n 3p commands | sed 's|/plan|two/|') $training --save w.npz
}
cmp w.npz one.npz
