"""Child processes, ports, and waiting for things to come true."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

HOST = "127.0.0.1"


def free_ports(count):
    """Ports that nobody listens on. All are held until all are known, so they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def until(condition, seconds, what, process=None):
    """The first truthy value of `condition`, asked every 50 ms; fails after `seconds`, or when `process` has ended."""
    deadline = time.monotonic() + seconds
    while True:
        if value := condition():
            return value
        if process and not process.alive():
            raise AssertionError(f"{process.name} ended (status {process.status()}) before {what}:\n{process.log_tail()}")
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds} s: not {what}" + (f"\n{process.log_tail()}" if process else ""))
        time.sleep(0.05)


class Process:
    """A child whose output goes to a file; signalled by its own pid only. It inherits the descriptors in `keep`."""

    def __init__(self, name, command, folder, environment=None, keep=()):
        self.name = name
        self.log = Path(folder) / f"{name}.log"
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                pass_fds=keep,
            )

    @property
    def pid(self):
        return self._child.pid

    def alive(self):
        return self._child.poll() is None

    def status(self):
        return self._child.poll()

    def send(self, signal_number):
        self._child.send_signal(signal_number)

    def wait(self, seconds):
        """Exit status; fails where the process does not end in time."""
        try:
            return self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {seconds} s:\n{self.log_tail()}") from None

    def stop(self, seconds=20):
        """SIGTERM, and SIGKILL to one that does not heed it; returns the exit status."""
        if self.alive():
            self.send(signal.SIGTERM)
            try:
                self._child.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.status()

    def kill(self):
        self._child.kill()
        self._child.wait()

    def log_text(self):
        return self.log.read_text(errors="replace")

    def log_tail(self, lines=15):
        return "\n".join(self.log_text().splitlines()[-lines:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
