# The folders that each folder may include from: a folder's line names them, except itself. lib/exec and
# lib/pass are divided into rooms; files of a room that lie above them are its top, which may include any room.
BEGIN {
	may["lib/base"] = ""
	may["lib/graph"] = "lib/base"
	may["lib/lang"] = may["lib/exec"] = "lib/base lib/graph"
	may["lib/pass"] = "lib/base lib/graph lib/lang"
	graph = "lib/base lib/graph "
	may["lib/exec/transport"] = may["lib/exec/state"] = may["lib/exec/emit"] = graph
	may["lib/exec/device"] = may["lib/exec/table"] = graph
	may["lib/exec/plan"] = graph "lib/exec/transport lib/exec/state"
	may["lib/exec/kernel"] = graph "lib/exec/state lib/exec/plan lib/exec/device"
	may["lib/exec/group"] = may["lib/exec/parallel"] = graph "lib/exec/transport lib/exec/state"
	may["lib/exec/linear"] = graph "lib/exec/state lib/exec/plan lib/exec/kernel lib/exec/emit"
	may["lib/exec/dataflow"] = graph "lib/exec/transport lib/exec/state lib/exec/plan lib/exec/kernel lib/exec/device"
	pass = graph "lib/lang "
	may["lib/pass/verify"] = may["lib/pass/place"] = pass
	may["lib/pass/grad"] = pass "lib/pass/verify"
	may["lib/pass/parallel"] = pass "lib/pass/verify lib/pass/rewrite"
	may["lib/pass/partition"] = pass "lib/pass/verify lib/pass/place"
	may["lib/pass/rewrite"] = pass "lib/pass/verify lib/pass/place lib/pass/grad"
	may["lib/pass/replicate"] = pass "lib/pass/rewrite"
	may["lib/pass/lower"] = pass "lib/pass/verify lib/pass/rewrite"
	# Rooms of lib/exec that others see, and headers of the rest that they see.
	seen = "^lib/exec/((session|bucket_trace)[.]h|state/.*|parallel/(loop_schedule|worker_schedule|row_exchange)[.]h|device/(api[.](h|def)|(provider|device|[a-z]+_launch)[.]h)|group/group[.]h|table/clock[.]h|transport/(link.*|rendezvous)[.]h|plan/(step|profile)[.]h)$"
	may["formats"] = may["kernels"] = "lib/base lib/graph lib/lang lib/exec lib/pass"
	may["remote"] = may["formats"] " formats"
	may["remote/web"] = may["formats"] " formats remote"
	may["app"] = may["remote"] " kernels remote"
	may["app/serving"] = may["app"] " app"
	only["protobuf-c"] = "formats|cmd/version.c|cmd/doctor.c"
	only["zlib"] = "formats|cmd/version.c"
	only["cblas"] = only["cuda"] = "kernels"
	only["curl"] = only["nghttp2"] = only["libssh"] = "remote"
}
function folder(path) {
	if (match(path, /^(lib\/(exec|pass)|remote|app)\/[a-z]+\//))
		return substr(path, 1, RLENGTH - 1)
	return match(path, /^lib\/[a-z]+/) ? substr(path, 1, RLENGTH) : substr(path, 1, index(path, "/") - 1)
}
function within(path, outer) { return index(path "/", outer "/") == 1 }
function allowed(from, to, list) {
	n = split(list, part, " ")
	for (i = 1; i <= n; i++)
		if (within(to, part[i]))
			return 1
	return 0
}
/^#include "/ {
	from = folder(FILENAME)
	split($0, quoted, "\"")
	header = quoted[2]
	to = folder(header)
	private = header ~ /_private[.]h$/
	home = header
	sub(/\/[^\/]*$/, "", home)
	if (to == "cmd" && from != "cmd" && from != "tests")
		print FILENAME ":" FNR ": nobody includes cmd"
	else if (within(to, "app") && !within(from, "app") && from != "cmd" && from != "tests")
		print FILENAME ":" FNR ": only cmd and tests include app"
	else if (private && !within(from, home) && FILENAME !~ /^tests\/unit\//)
		print FILENAME ":" FNR ": " header " is private to its folder"
	else if (from in may && to != "" && !within(to, from) && !(private && within(from, home)) && !allowed(from, to, may[from]))
		print FILENAME ":" FNR ": " from " may not include " header
	else if (within(to, "lib/exec") && !within(from, "lib/exec") && FILENAME !~ /^(tests|bench)\// && header !~ seen)
		print FILENAME ":" FNR ": " header " is not seen outside lib/exec"
}
/^#include </ {
	for (name in only)
		if (index($2, name) && FILENAME !~ "^(" only[name] "|tests|bench)")
			print FILENAME ":" FNR ": <" name "> belongs to " only[name]
}
