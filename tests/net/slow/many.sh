# Finding 27: 64 workers of one machine link to each other over libcurl, which makes 4032 connections, with a fifth of a
# processor for all: nobody takes another for lost meanwhile.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"
group=/sys/fs/cgroup/cpu/dfg.$$
mkdir "$group" 2>/dev/null || skip "needs a control group of processors (version 1)"
trap 'rmdir "$group" || true' EXIT
echo 100000 >"$group/cpu.cfs_period_us"
echo 20000 >"$group/cpu.cfs_quota_us"
printf 'input x: f64[n]\noutput y = x * 2.0\n' >p.dfg
# shellcheck disable=SC2016
bash -c 'echo $$ >"$1/cgroup.procs"; exec timeout 200 "$DFG" run p.dfg --feed x=f64[1]:1 --hosts local:64 --transport libcurl' \
	bash "$group" >out 2>err || { cat err; exit 1; }
has out 'y: f64[1]'
none_left 20
