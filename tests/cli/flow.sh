# y is x^n by a loop in one branch and n*x by one in the other: derivatives of any order, as files that are differentiated
# again. The graph that comes out passes check.
derive() { # IN OF PREFIX OUT
	"$DFG" grad "$1" --of "$2" --wrt x --prefix "$3" -o "$4"
	"$DFG" check "$4" >out 2>&1
	[ ! -s out ] || { cat out; exit 1; }
}
expect() { # GRAPH TENSOR PRODUCT N VALUE
	"$DFG" run "$1" --feed p="$3" --feed n="$4" --feed x=2 --fetch "$2" >out
	grep -qxF "$2: f32[] $5" out || { echo "$2 of n=$4: not $5"; cat out; exit 1; }
}
derive "$ROOT/tests/graphs/while-in-cond.pb" y first first.pb
derive first.pb first/x second second.pb
derive second.pb second/x third third.pb
expect third.pb first/x true 5 80
expect third.pb second/x true 5 160
expect third.pb third/x true 5 240
expect third.pb third/x true 2 0
expect third.pb first/x true 0 0
expect third.pb first/x false 5 5
expect third.pb second/x false 5 0
