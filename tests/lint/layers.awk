# Who may include whom. A folder's line names the folders that its files may include from, itself apart.
BEGIN {
	may["lib/base"] = ""
	may["lib/graph"] = "lib/base"
	may["lib/lang"] = may["lib/exec"] = "lib/base lib/graph"
	may["lib/pass"] = "lib/base lib/graph lib/lang"
	may["formats"] = may["kernels"] = "lib/base lib/graph lib/lang lib/exec lib/pass"
	may["remote"] = may["formats"] " formats"
	only["protobuf-c"] = "formats|cmd/version.c|cmd/doctor.c"
	only["zlib"] = "formats|cmd/version.c"
	only["cblas"] = only["cuda"] = "kernels"
	only["curl"] = only["nghttp2"] = only["libssh"] = "remote"
}
function folder(path) { return match(path, /^lib\/[a-z]+/) ? substr(path, 1, RLENGTH) : substr(path, 1, index(path, "/") - 1) }
/^#include "/ {
	from = folder(FILENAME)
	split($0, part, "\"")
	to = folder(part[2])
	if (to == "cmd" && from != "cmd" && from != "tests")
		print FILENAME ":" FNR ": nobody includes cmd"
	else if (from in may && to != from && to != "" && index(" " may[from] " ", " " to " ") == 0)
		print FILENAME ":" FNR ": " from " may not include " part[2]
}
/^#include </ {
	for (name in only)
		if (index($2, name) && FILENAME !~ "^(" only[name] "|tests|bench)")
			print FILENAME ":" FNR ": <" name "> belongs to " only[name]
}
