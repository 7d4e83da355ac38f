"""The gateway under a service manager that speaks systemd's protocol: readiness, the socket handed over, restarts."""

import signal
import socket
import threading
from types import SimpleNamespace

import httpx
import pytest

from harness import configs, fareway
from harness.processes import HOST, Process, free_ports, until

MODEL = "small"


@pytest.fixture(scope="module")
def emulated(folder):
    engine = SimpleNamespace(model=MODEL, port=free_ports(1)[0])
    with fareway.Emulators(configs.in_front_of(engine, "vllm", context=8192, seats=64), folder):
        yield engine


class Manager:
    """Holds the listening sockets and hears what its service says, as systemd does."""

    def __init__(self, emulated, folder, sockets=1):
        self.folder = folder
        self.listeners = [socket.create_server((HOST, 0), backlog=1024) for _ in range(sockets)]
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notified.bind(str(folder / "notify"))
        self.notified.settimeout(30)
        config = configs.in_front_of(emulated, "vllm", context=8192, seats=64)
        config["limits"] = {"drain_timeout": "20s"}
        self.path = configs.write(config, folder)
        self.admin = httpx.Client(base_url=f"http://{config['admin']}", timeout=10)
        self.url = "http://{}:{}".format(*self.listeners[0].getsockname())
        self.started = 0

    def start(self):
        """A process whose descriptors 3, 4, ... are the sockets, and which is told so."""
        self.started += 1
        moves = " ".join(f"{3 + i}<&{listener.fileno()}" for i, listener in enumerate(self.listeners))
        script = f'exec {moves}; LISTEN_PID=$$ LISTEN_FDS={len(self.listeners)} exec "$0" "$@"'
        return Process(f"gateway-{self.started}", ["bash", "-c", script, fareway.BINARY, "serve", "--config", self.path],
                       self.folder, environment={"NOTIFY_SOCKET": str(self.folder / "notify")},
                       keep=[listener.fileno() for listener in self.listeners])

    def heard(self, word):
        """Waits until the service has said it."""
        while word not in self.notified.recv(4096).decode().split("\n"):
            pass

    def serving(self):
        try:
            pools = self.admin.get("/admin/v1/fleet").json()["pools"]
            return all(replica["health"]["state"] == "serving" for pool in pools for replica in pool["replicas"])
        except httpx.TransportError:
            return False

    def ask(self):
        return httpx.post(**self._chat(tokens=2))

    def stream(self, tokens):
        return httpx.stream("POST", **self._chat(tokens, stream=True))

    def _chat(self, tokens, **options):
        body = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": tokens, **options}
        headers = {"authorization": f"Bearer {configs.KEY}"}
        return {"url": self.url + "/v1/chat/completions", "json": body, "headers": headers, "timeout": 60}

    def stop(self):
        for each in (*self.listeners, self.notified):
            each.close()


@pytest.fixture
def manager(emulated, tmp_path):
    manager = Manager(emulated, tmp_path)
    yield manager
    manager.stop()


def test_it_says_when_it_is_ready_alive_and_stopping_and_serves_the_socket_it_was_given(manager):
    with manager.start() as process:
        manager.heard("READY=1")
        until(manager.serving, 30, "the replica serves", process)
        assert manager.ask().status_code == 200
        manager.heard("WATCHDOG=1")
        process.send(signal.SIGTERM)
        manager.heard("STOPPING=1")
        assert process.wait(10) == 0


def test_a_restart_refuses_nobody_and_breaks_no_stream(manager):
    first = manager.start()
    until(manager.serving, 30, "the replica serves", first)
    answers, failures, stop = [], [], threading.Event()

    def keep_asking():
        while not stop.is_set():
            try:
                answers.append(manager.ask().status_code)
            except httpx.HTTPError as error:
                failures.append(repr(error))

    clients = [threading.Thread(target=keep_asking) for _ in range(4)]
    for client in clients:
        client.start()
    until(lambda: len(answers) > 20, 30, "requests are answered", first)
    with manager.stream(tokens=150) as stream:
        lines = stream.iter_lines()
        next(lines)
        first.send(signal.SIGTERM)
        assert "\n".join(lines).rstrip().endswith("data: [DONE]")
    assert first.wait(30) == 0
    before = len(answers)
    with manager.start() as second:
        until(lambda: answers[before:].count(200) > 20, 30, "requests are answered again", second)
        stop.set()
        for client in clients:
            client.join()
    assert failures == []
    # A new process knows its replicas after the first probe, and says 503 with a reason until then.
    assert set(answers) <= {200, 503}


def test_more_than_one_socket_is_refused_in_words(emulated, tmp_path):
    manager = Manager(emulated, tmp_path, sockets=2)
    with manager.start() as process:
        assert process.wait(10) == 1
        assert "handed over 2 sockets; give fareway.socket one ListenStream" in process.log_text()
    manager.stop()
