# fish completion for dfg: asks the program, so it cannot be stale.
function __dfg_words
    set -l words (commandline -opc)
    dfg __complete $words[2..-1]
end
complete -c dfg -n 'test (count (commandline -opc)) -eq 1' -f -a '(dfg __complete)'
complete -c dfg -n 'test (count (commandline -opc)) -gt 1' -a '(__dfg_words)'
