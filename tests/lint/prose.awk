# Comments and messages in plain English (CONTRIBUTING.md, "The voice"): patterns that an outsider reads twice. A comment may
# run over several lines; a string counts where it has a space in it. In pages all text counts, in scripts comments do.
function look(text, line) {
	gsub(/[Tt]here (is|are|was|were) (no|none)|is no longer|leaves? [a-z ]* behind/, "", text)
	if (text ~ /^[ \t*]*(What|Of what|Of whom|Who|Whoever) / || text ~ /(^|[^a-z])(is|are) (no|none)([^a-z]|$)/ ||
	    text ~ /(^|[^a-z])(behind|mended|stands? (in|at|on|there|here|behind|once)|so (many|much))([^a-z]|$)/ ||
	    text ~ /(^|[^a-z])(goes|go|went) on([^a-z]|$)/)
		print FILENAME ":" line ": " substr(text, 1, 100)
}
FNR == 1 { comment = ""; inside = 0 }
FILENAME ~ /^man\/|[.]md$/ { # pages: all text but macros
	if ($0 !~ /^[.]/)
		look($0, FNR)
	next
}
FILENAME !~ /[.](c|h|inc|def|proto)$/ { # scripts, programs of the language, tables: what follows #
	if (match($0, /(^|[ \t])#+ /))
		look(substr($0, RSTART + RLENGTH), FNR)
	next
}
{
	rest = $0
	if (inside) {
		end = index(rest, "*/")
		comment = comment " " (end ? substr(rest, 1, end - 1) : rest)
		gsub(/[ \t]+\*[ \t]+/, " ", comment)
		if (!end)
			next
		look(comment, first)
		inside = 0
		rest = substr(rest, end + 2)
	}
	while (match(rest, /"([^"\\]|\\.)*"/)) {
		string = substr(rest, RSTART + 1, RLENGTH - 2)
		open = index(rest, "/*")
		if (open && open < RSTART)
			break
		if (string ~ / /)
			look(string, FNR)
		rest = substr(rest, 1, RSTART - 1) substr(rest, RSTART + RLENGTH)
	}
	if ((open = index(rest, "/*"))) {
		comment = substr(rest, open + 2)
		first = FNR
		end = index(comment, "*/")
		if (end)
			look(substr(comment, 1, end - 1), first)
		else
			inside = 1
	} else if ((open = index(rest, "//")))
		look(substr(rest, open + 2), FNR)
}
