# bash completion for dfg: asks the program, so it cannot be stale.
_dfg() {
	local word=${COMP_WORDS[COMP_CWORD]} command='' i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-C) ((i++)) ;;
		-*) ;;
		*)
			command=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	mapfile -t COMPREPLY < <(compgen -W "$(dfg __complete ${command:+"$command" "${COMP_WORDS[@]:i+1:COMP_CWORD-i-1}"} | cut -f1)" -- "$word")
	[[ -n $command && $word != -* ]] && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
}
complete -o filenames -F _dfg dfg
