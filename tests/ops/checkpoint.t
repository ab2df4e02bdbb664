# Saving and restoring itself is in tests/cli/bundle.sh.
ShardedFilename("ck/model", 3, 16)                          = "ck/model-00003-of-00016"
ShardedFilename("", -1, 100000)                             = "--0001-of-100000"
ShardedFilename(["a"], 0, 1)                                : input 0 has shape [1]
