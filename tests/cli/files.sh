# ReadFile and WriteFile; the words for ops that no other program can run.
. "$ROOT/tests/cli/kit"

printf 'input name: string[]\ninput text: string[]\noutput y = ReadFile(name)\ntarget put { WriteFile(name, text) }\n' >files.dfg
"$DFG" build files.dfg -o files.pb
printf 'two\nlines\n' >a.txt
status 0 "$DFG" run files.pb --feed name=a.txt --fetch y
has out 'two\nlines\n'
status 0 "$DFG" run files.pb --feed name=b.txt --feed text=new --target put
[ "$(cat b.txt)" = new ]
status 66 "$DFG" run files.pb --feed name=none.txt --fetch y
status 65 "$DFG" run files.pb --feed name=- --feed text=new --target put
has err "filename is '-'"

printf 'node { name: "y" op: "PyFunc" }\n' >python.pbtxt
status 65 "$DFG" check python.pbtxt
has err 'it calls a function of the Python process that made the graph'
