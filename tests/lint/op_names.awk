# Comparisons with the name of an op that tests/lint/op_names.txt, the first file, does not list. A file that compares with
# names of a table, or that a caller gives, is listed with (table).
FNR == NR {
	for (i = 2; i <= NF && !/^#/; i++)
		listed[$1 " " $i] = 1
	next
}
/(strn?cmp|is_op|is_named)\(/ {
	text = $0
	while (match(text, /"(Dfg>|Onnx>|_?[A-Z][a-z][A-Za-z0-9]*)[^"]*"/)) {
		name = substr(text, RSTART + 1, RLENGTH - 2)
		text = substr(text, RSTART + RLENGTH)
		if (!((FILENAME " " name) in listed))
			print FILENAME ":" FNR ": compares with the name " name ": use a role, a meaning or a flag of lib/graph/op.h"
	}
}
/str(n?case)?n?cmp\([^"]*op_name[^"]*\)/ && !((FILENAME " (table)") in listed) {
	print FILENAME ":" FNR ": compares the name of an op with one that is not written here"
}
