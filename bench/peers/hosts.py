"""The steps of bench/hosts.sh in a distributed session of TensorFlow: servers of this machine, over gRPC."""
import multiprocessing
import os
import socket
import statistics
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
ITERATIONS = 1000


def cluster(ports):
    return {"worker": [f"127.0.0.1:{port}" for port in ports]}


def serve(ports, task):
    import tensorflow as tf

    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    tf.distribute.Server(cluster(ports), job_name="worker", task_index=task, config=config).join()


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def measure(name, workers, build, per, runs):
    import tensorflow as tf

    v1 = tf.compat.v1
    v1.disable_eager_execution()
    v1.disable_control_flow_v2()
    ports = free_ports(workers)
    processes = [multiprocessing.get_context("spawn").Process(target=serve, args=(ports, i), daemon=True) for i in range(workers)]
    for process in processes:
        process.start()
    with tf.Graph().as_default():
        fetch = build(v1, lambda task: v1.device(f"/job:worker/task:{task}"))
        with v1.Session(f"grpc://127.0.0.1:{ports[0]}") as session:
            session.run(v1.global_variables_initializer())
            took = []
            for _ in range(runs):
                begin = time.perf_counter()
                session.run(fetch)
                took.append(time.perf_counter() - begin)
    for process in processes:
        process.terminate()
    print(name, statistics.median(took[len(took) // 10 :]) / per * 1e6, "TensorFlow", sep="\t", flush=True)


def null(workers):
    def build(v1, on):
        fetch = []
        for w in range(workers):
            with on(w):
                fetch.append(v1.placeholder_with_default(1.0, []) + 1.0)
        return fetch

    return build


def far(v1, on):
    def body(i, s):
        with on(1):
            half = s * 0.5
        with on(0):
            return i + 1, half + 1.0

    with on(0):
        return v1.while_loop(lambda i, s: i < ITERATIONS, body, [0, 0.0], back_prop=False)[1]


if __name__ == "__main__":
    for count in (1, 2, 8):
        measure(f"null step, workers: {count}", count, null(count), 1, 300)
    measure("loop over shm, an iteration", 2, far, ITERATIONS, 5)
    measure("loop over libcurl, an iteration", 2, far, ITERATIONS, 5)
