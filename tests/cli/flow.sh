# A derivative through loops and branches is refused by name; it once came out as zero, because the walk that looks for
# what depends on x did not follow a loop's back edge.
status=0
"$DFG" grad "$ROOT/tests/graphs/while-in-cond.pb" --of y --wrt x -o out.pb 2>err || status=$?
[ $status = 65 ] && grep -q "no gradient" err && grep -q "Merge" err
[ ! -e out.pb ]
