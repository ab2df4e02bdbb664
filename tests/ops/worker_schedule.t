# One worker by itself: the order of Dfg>LoopSchedule, and no moves. Several are in tests/unit/worker_schedule.c and
# tests/cli/blocks-workers.sh. The last output: depth, places, moves, rows, workers and owned rows, then their lists.
Dfg>WorkerSchedule(i64(3), i64([]), i64([]), [i64([4, 4, 5])], loop = "l", blocks = 2, arrays = [0], writes = [1], depths = [1], A = 1) = [0, 2, 1], [0, 2, 3], [0, 1, 0], [1, 4, 0, 0, 1, 2, 0, 0, 0, 0, 0, 2, 4, 5]
Dfg>WorkerSchedule(i64(1), i64([]), i64([]), [i64([4])], loop = "l", blocks = 2, A = 1) : but the accesses are to 0 arrays
