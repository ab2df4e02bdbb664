# tests/lint/run lists files by git: without a clone it says so. It read its stdin, and waited for ever.
. "$ROOT/tests/cli/kit"
mkfifo stdin
exec 7<>stdin
got=0
GIT_CEILING_DIRECTORIES=$PWD/.. timeout 20 "$ROOT/tests/lint/run" <&7 >out || got=$?
[ $got = 1 ]
has out 'lint: git lists the files'
