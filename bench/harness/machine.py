"""Processes, ports, cores and how quiet the machine is. Ends only what it started."""

import contextlib
import ctypes
import os
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class BenchError(Exception):
    """Said to the user as it is."""


def raise_descriptor_limit():
    """Soft to hard, for us and all we start; returns it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def free_ports(count):
    """Ports of 127.0.0.1 that nobody listens on right now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise BenchError(f"{what}: not within {seconds:g} s")
        time.sleep(0.02)
    return value


class Process:
    """A child on one core, with its own log; gone at the latest when this script is."""

    def __init__(self, command, core, log, cwd=None):
        self.command = [str(part) for part in command]
        self.log = Path(log)

        def in_child():
            os.sched_setaffinity(0, {core})
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)

        with open(self.log, "wb") as out:
            self.popen = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                          cwd=cwd, preexec_fn=in_child, start_new_session=True)

    def running(self):
        return self.popen.poll() is None

    def pids(self):
        """The process and its children, as nginx has one."""
        children = Path(f"/proc/{self.popen.pid}/task/{self.popen.pid}/children")
        return [self.popen.pid, *map(int, children.read_text().split())]

    def end_of_log(self, lines=5):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self):
        """First politely (twice, which lets Fareway cut what a client left open), then not."""
        for sign, seconds in ((signal.SIGTERM, 1.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
            if not self.running():
                return
            self.popen.send_signal(sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(seconds)


def busy_cores(seconds):
    """Cores in use, by anybody, over a moment."""
    def idle():
        fields = Path("/proc/stat").read_text().splitlines()[0].split()
        return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")
    before, began = idle(), time.monotonic()
    time.sleep(seconds)
    wall = time.monotonic() - began
    return max(0.0, os.cpu_count() - (idle() - before) / wall)


class Quiet:
    """Waits for a quiet machine; all waits of a run together have a budget."""

    def __init__(self, budget_seconds, limit):
        self.left = budget_seconds
        self.limit = limit

    def wait(self):
        while self.left > 0:
            began = time.monotonic()
            quiet = busy_cores(0.3) < self.limit
            self.left -= time.monotonic() - began
            if quiet:
                return
            time.sleep(0.5)
            self.left -= 0.5


def first_line(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().splitlines()[0]


def description(folder):
    """The machine in a few words, without its name; `folder` is where the ledger lies."""
    model = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "unknown processor")
    return {"processor": model, "cores": os.cpu_count(), "kernel": os.uname().release,
            "filesystem": first_line(["findmnt", "-no", "FSTYPE", "-T", str(folder)]),
            "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)}
