# The numbers of ops on a state are recorded in tests/cases/ops/random-generators, what is sure of these ones in NonDeterministicInts.
NonDeterministicInts(i64([2, 0]), dtype = i32)       = [[], []]
NonDeterministicInts(i64([-2]), dtype = i32)         : dimension 0 of
NonDeterministicInts(i64(3))                         : input 0 has shape [], expected a vector
