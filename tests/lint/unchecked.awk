# A call whose struct dfg_err * nobody looks at. The compiler sees this only where a prototype says must-check, which
# static functions and function pointers have none of. First the names (static ones count in their own file), then the
# statements: a line that begins with a call and does not continue the one before.
match($0, /struct dfg_err \*(\(\*)?[a-z_]+\)?\(/) {
	name = substr($0, RSTART, RLENGTH)
	pointer = index(name, "(*")
	gsub(/.*[*]|[()]/, "", name)
	if (pointer)
		pointers[name] = 1
	else
		fails[/^static/ ? FILENAME " " name : name] = 1
}
/^\t+[a-z_.>-]+\(/ && before !~ /[,(=?:&|]$/ { line[++n] = $0; file[n] = FILENAME; place[n] = FILENAME ":" FNR }
{ before = $0 }
END {
	for (i = 1; i <= n; i++) {
		name = line[i]
		sub(/\(.*/, "", name)
		through = name ~ /->|\./
		sub(/.*(\t|->|\.)/, "", name)
		if (through ? name in pointers : name in fails || file[i] " " name in fails)
			print place[i] ": error not looked at:" line[i]
	}
}
