# Functions that are not called: they overflow, they print or exit in the library, or they pass by the allocator or the
# I/O vtable. A word in a comment or string does not count.
{
	line = $0
	standin = FILENAME ~ /^kernels\/cuda\/standin\// # a library and a program apart from ours
	gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
	sub(/\/\/.*|\/\*.*/, "", line)
	if (line ~ /^ \*/)
		next
	if (match(line, /(^|[^A-Za-z0-9_.>])(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atof|alloca|system|popen)\(/) &&
	    FILENAME !~ /^tests\// && !(line ~ /strc(py|at)\(/ && FILENAME == "lib/base/err.c"))
		print FILENAME ":" FNR ": " line
	if (!standin && FILENAME ~ /^(lib|formats|kernels|remote|app)\// &&
	    match(line, /(^|[^A-Za-z0-9_.>])(malloc|calloc|realloc|free|strdup|printf|puts|putchar|fprintf|fopen|fread|fwrite|exit|abort|assert)\(/) &&
	    FILENAME != "lib/base/mem.c")
		print FILENAME ":" FNR ": " line
	if (!standin && FILENAME ~ /^(lib|formats|kernels|remote|app)\// && line ~ /(^|[^A-Za-z0-9_])(stdout|stderr|_exit)([^A-Za-z0-9_]|$)/ &&
	    !(line ~ /_exit/ && FILENAME == "lib/base/trial.c")) # which ends a child
		print FILENAME ":" FNR ": " line
}
