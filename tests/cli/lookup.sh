# Lookup tables: what is refused, vocabularies in files, state over steps.
. "$ROOT/tests/cli/kit"
cat >refused.dfg <<'EOF'
state found: i64[1] = zeros
words = HashTableV2(key_dtype = string, value_dtype = i64, shared_name = "words")
pairs = MutableDenseHashTableV2(i64([0, 0]), i64([-1, -1]), key_dtype = i64, value_dtype = f32, value_shape = [2], shared_name = "pairs", initial_num_buckets = 4)
target unset { set found = LookupTableFindV2(words, ["a"], i64(0)) }
target differs { InitializeTableV2(words, ["a", "a"], i64([1, 2])) }
target again {
    InitializeTableV2(words, ["a"], i64([1]))
    InitializeTableV2(words, ["b"], i64([1]))
}
target fewer {
    InitializeTableV2(words, ["a", "b"], i64([1, 2]))
    InitializeTableV2(words, ["b"], i64([2]))
}
target reserved { LookupTableInsertV2(pairs, i64([[0, 0]]), [[1.0, 2]]) }
target deleted { LookupTableRemoveV2(pairs, i64([[-1, -1]])) }
target each_default {
    InitializeTableV2(words, ["a"], i64([1]))
    set found = LookupTableFindV2(words, ["b"], i64([2]))
}
target constant { LookupTableInsertV2(words, ["a"], i64([1])) }
EOF
"$DFG" build refused.dfg -q -o refused.pb
refused() { # TARGET MESSAGE
	status 65 "$DFG" run refused.pb --target "$1"
	has err "$2"
}
refused unset "node 'unset/found/LookupTableFindV2' (LookupTableFindV2): lookup table 'words' is not initialised"
refused differs "entry 1 gives lookup table 'words' another value for a key that it has"
refused again "lookup table 'words' is initialised already, and entry 0 is not in it"
refused fewer "lookup table 'words' is initialised already, with 2 entries, not 1"
refused reserved "key 0 is the empty_key of lookup table 'pairs', which no entry may have"
refused deleted "key 0 is the deleted_key of lookup table 'pairs', which no entry may have"
refused each_default "default_value has shape [1], expected a scalar for a constant lookup table"
refused constant "lookup table 'words' is constant: use InitializeTableV2"
printf 'state x: f32[] = 0\nt = MutableHashTableV2(key_dtype = i64, value_dtype = f32, shared_name = "t")\ntarget fill { InitializeTableV2(t, i64([1]), [2.0]) }\n' >refused.dfg
"$DFG" build refused.dfg -q -o refused.pb
refused fill "lookup table 't' is mutable: use LookupTableInsertV2"

# The types of keys and values are checked before a step, and whether a handle is that of a table.
wrong() { # PROGRAM MESSAGE
	printf 't = MutableHashTableOfTensorsV2(key_dtype = string, value_dtype = f32, value_shape = [2], shared_name = "t")\nq = FIFOQueueV2(component_types = [f32])\n%s\n' "$1" >wrong.dfg
	status 65 "$DFG" build wrong.dfg -o wrong.pb
	has err "$2"
}
wrong 'output y = LookupTableFindV2(t, i64([1]), [1.0, 2])' 'keys are i64, but those of the lookup table are string'
wrong 'output y = LookupTableFindV2(t, ["a"], i64([1, 2]))' 'values are i64, but those of the lookup table are f32'
wrong 'output y = LookupTableFindV2(t, ["a"], [1.0, 2, 3])' 'default_value has shape [3], expected [2] or [1,2]'
wrong 'target go { LookupTableInsertV2(t, ["a", "b"], [[1.0, 2]]) }' 'values have shape [1,2], but keys of shape [2] require [2,2]'
wrong 'target go { QueueEnqueueV2(t, [1.0]) }' 'expected that of a queue'
wrong 'output y = LookupTableSizeV2(q)' 'expected that of a lookup table'
wrong 'target go { InitializeTableFromTextFileV2(t, "f", key_index = 0, value_index = 1, vocab_size = 0) }' 'vocab_size is 0'
wrong 'target go { InitializeTableFromTextFileV2(t, "f", key_index = 0, value_index = 1, offset = -1) }' 'offset is -1'
wrong 'd = MutableDenseHashTableV2(1, 2, key_dtype = i32, value_dtype = f32, initial_num_buckets = 3)' \
	'initial_num_buckets is 3, expected a power of two'

# A vocabulary: columns, line numbers, whole lines; \r\n, no newline at the end, an empty line.
printf 'head\nthe\t3\t0.5\r\nof\t2\t-1\nto\t1\t1e3' >vocabulary.txt
printf 'one\n\nthree\n' >lines.txt
cat >file.dfg <<'EOF'
input path: string[]
state id: i64[4] = zeros
state share: f32[4] = zeros
state line: string[2] = ["", ""]
ids = HashTableV2(key_dtype = string, value_dtype = i64, shared_name = "ids")
shares = HashTableV2(key_dtype = string, value_dtype = f32, shared_name = "shares")
lines = HashTableV2(key_dtype = i64, value_dtype = string, shared_name = "lines")
keys = ["to", "the", "head", "a"]
target columns {
	InitializeTableFromTextFileV2(ids, path, key_index = 0, value_index = 1, offset = 1)
	InitializeTableFromTextFileV2(shares, path, key_index = 0, value_index = 2, offset = 1)
	set id = LookupTableFindV2(ids, keys, i64(-1))
	set share = LookupTableFindV2(shares, keys, -0.0)
}
target numbers {
	InitializeTableFromTextFileV2(ids, path, key_index = 0, value_index = -1, vocab_size = 3)
	set id = LookupTableFindV2(ids, keys, i64(-1))
}
target whole {
	InitializeTableFromTextFileV2(lines, path, key_index = -1, value_index = -2)
	set line = LookupTableFindV2(lines, i64([1, 2]), "none")
}
target longer { InitializeTableFromTextFileV2(ids, path, key_index = 0, value_index = -1, vocab_size = 9) }
target first { InitializeTableFromTextFileV2(ids, path, key_index = 0, value_index = 1) }
target no_number { InitializeTableFromTextFileV2(ids, path, key_index = 1, value_index = 0, offset = 1) }
output id_ = id
output share_ = share
output line_ = line
EOF
"$DFG" build file.dfg -q -o file.pb
read_file() { # FILE TARGET FETCH
	"$DFG" run file.pb --feed "path=string[]:$1" --target "$2" --save state.npz
	"$DFG" run file.pb --feed "path=string[]:$1" --load state.npz --partial -q --fetch "$3" | tr '\n' ' '
}
[ "$(read_file vocabulary.txt columns id_,share_)" = 'id_: i64[4] 1 3 -1 -1 share_: f32[4] 1000 0.5 -0 -0 ' ]
[ "$(read_file vocabulary.txt numbers id_)" = 'id_: i64[4] -1 1 0 -1 ' ]
[ "$(read_file lines.txt whole line_)" = 'line_: string[2] "" "three" ' ]
bad_file() { # FILE TARGET CODE MESSAGE
	status "$3" "$DFG" run file.pb --feed "path=string[]:$1" --target "$2"
	has err "$4"
}
bad_file vocabulary.txt longer 65 'vocabulary.txt: it has 4 entries, fewer than vocab_size 9'
bad_file vocabulary.txt first 65 'vocabulary.txt: line 1 has no column 1'
bad_file vocabulary.txt no_number 65 "vocabulary.txt: line 2: 'the' is not a valid i64"
bad_file absent.txt columns 66 'absent.txt'
ln -s vocabulary.txt link.txt
bad_file link.txt columns 65 'link.txt'

# An initialiser of a table runs before the first step that reads it, unless the step contains it.
cat >served.dfg <<'EOF'
input word: string[?]
words = HashTableV2(key_dtype = string, value_dtype = i64, shared_name = "words")
target fill { InitializeTableV2(words, ["a", "b"], i64([1, 2])) }
same = HashTableV2(key_dtype = string, value_dtype = i64, shared_name = "words")
output id = LookupTableFindV2(same, word, i64(-1))
EOF
"$DFG" build served.dfg -q -o served.pb
ids() { # WORDS [OPTION...]
	words=$1
	shift
	"$DFG" run "$@" --feed "word=string[3]:$words" --fetch id | tr '\n' ' '
}
[ "$(ids b,c,a served.pb)" = 'id: i64[3] 2 -1 1 ' ]
[ "$(ids b,c,a served.pb --no-opt --threads 2 --hosts local:1)" = 'id: i64[3] 2 -1 1 ' ]
[ "$(ids b,b,a served.pb --init fill)" = 'id: i64[3] 2 2 1 ' ]
"$DFG" partition served.pb --hosts local:2 -o plan -q
[ "$(ids b,c,a plan --hosts local:2)" = 'id: i64[3] 2 -1 1 ' ]
"$DFG" opt served.pb --fetch id -o pruned.pb -q
[ "$(ids b,c,a pruned.pb)" = 'id: i64[3] 2 -1 1 ' ]

# Tables of one shared name in two containers are two tables, each with its own entries.
cat >containers.dfg <<'EOF'
a = HashTableV2(key_dtype = string, value_dtype = i64, container = "a", shared_name = "t")
b = HashTableV2(key_dtype = string, value_dtype = i64, container = "b", shared_name = "t")
target fill {
	InitializeTableV2(a, ["x"], i64([1]))
	InitializeTableV2(b, ["x"], i64([2]))
}
output y = [LookupTableFindV2(a, "x", i64(0)), LookupTableFindV2(b, "x", i64(0))]
EOF
"$DFG" build containers.dfg -q -o containers.pb
[ "$("$DFG" run containers.pb --fetch y | tr '\n' ' ')" = 'y: i64[2] 1 2 ' ]
