# Functions that the scripts about `dfg serve` import, with PYTHONPATH=$ROOT/tests/cli.
import http.client, socket, struct, time


def connect(url):
    return http.client.HTTPConnection(url.split("//")[1], timeout=60)


def metric(url, name):
    """The first number of /metrics whose line begins with the name."""
    connection = connect(url)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().split("\n")
    return float([line for line in lines if line.startswith(name)][0].split()[-1])


def until(is_true):
    """A minute at most, as the machine may be busy."""
    end = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < end, "not within a minute"
        time.sleep(0.01)


def hold(url, count, path, body):
    """Occupies as many of the server's threads with steps that do not end. Returns their clients."""
    clients = [connect(url) for _ in range(count)]
    for client in clients:
        client.request("POST", path, body)
    until(lambda: metric(url, "dfg_steps_running") == count)
    return clients


def release(clients):
    """A connection that is reset ends its step at once."""
    for client in clients:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sock.close()
