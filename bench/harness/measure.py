"""Runs scenarios against targets, in alternating order, and keeps every single measurement."""

import http.client
import json
import subprocess
import sys
import time
from pathlib import Path

from .machine import BenchError, Process, wait_for

NOISE_LIMIT = 0.2  # cores used by others, of two, from which a measurement counts as disturbed


def say(text):
    print(text, file=sys.stderr, flush=True)


class Engines:
    """The mock engines that all targets share, one process."""

    def __init__(self, binary, folder, count, core):
        self.process = Process([binary, "--ports", ",".join(["0"] * count)], core, Path(folder) / "engines.log")
        try:
            self.ports = wait_for(lambda: self._ports(count), 5, "the mock engines listen")
        except BenchError:
            self.process.stop()
            raise

    def _ports(self, count):
        lines = self.process.log.read_text().splitlines()
        return [int(line.split()[-1]) for line in lines] if len(lines) == count else None

    def total(self, series):
        """Sum of a series over the engines, as their own /metrics tell it."""
        total = 0.0
        for port in self.ports:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/metrics")
            for line in connection.getresponse().read().decode().splitlines():
                if line.startswith(series):
                    total += float(line.rpartition(" ")[2])
            connection.close()
        return total

    def requests(self):
        return self.total("vllm:request_success_total") + self.total("vllm:num_requests_running")

    def drained(self, seconds=5):
        """Whether every stream ended; those that the client left must have been cancelled."""
        try:
            return wait_for(lambda: self.total("vllm:num_requests_running") == 0, seconds, "streams end")
        except BenchError:
            return False


class Bench:
    def __init__(self, load_binary, engines, cores, quiet, deadline):
        self.load_binary = load_binary
        self.engines = engines
        self.proxy_core, self.load_core = cores
        self.quiet = quiet
        self.deadline = deadline
        self.runs = []
        self.problems = []

    def run(self, scenarios, targets, rounds):
        """Measurements in rounds; the order of the targets is reversed every time."""
        broken = set()
        for number in range(rounds):
            for scenario in scenarios:
                for target in targets if number % 2 == 0 else targets[::-1]:
                    if (target.name, scenario.name) in broken or (scenario.hold and not target.is_started):
                        continue
                    if time.monotonic() > self.deadline:
                        self.problems.append(f"time was up in round {number + 1}, before {scenario.name} of {target.name}")
                        return
                    if not self._measure(scenario, target, number):
                        broken.add((target.name, scenario.name))

    def _measure(self, scenario, target, number, retries=1):
        """Keeps the quietest of a few attempts. False where there is nothing to keep."""
        best = None
        for _ in range(1 + retries):
            self.quiet.wait()
            try:
                result = self._attempt(scenario, target)
            except BenchError as error:
                self.problems.append(f"{target.name}, {scenario.name}: {error}")
                say(f"  {target.name}, {scenario.name}: {error}")
                return False
            if best is None or result.get("foreign_cores", 0) < best.get("foreign_cores", 0):
                best = result
            if best.get("foreign_cores", 0) <= NOISE_LIMIT or self.quiet.left <= 0:
                break
        self._note_errors(scenario, target, best)
        self.runs.append({"round": number, "scenario": scenario.name, "target": target.name, **best})
        say(f"  round {number + 1} {scenario.name:9} {target.name:8} " +
            "  ".join(f"{figure.title} {shown(best.get(figure.key), figure)}" for figure in scenario.figures))
        return True

    def _note_errors(self, scenario, target, result):
        where = f"{target.name}, {scenario.name}"
        if result["errors"]:
            self.problems.append(f"{where}: {result['errors']} wrong answers, the first: {result['first_error']}")
        # Clients of streams leave in the end; what they had just sent may not have reached an engine.
        may_be_missing = scenario.connections if scenario.events else 0
        if not 0 <= result["sent"] - result["engine_requests"] <= may_be_missing:
            self.problems.append(f"{where}: {result['sent']} requests were sent, engines saw {result['engine_requests']}")
        if not result["drained"]:
            self.problems.append(f"{where}: streams went on at the engines after their client had left")
        if scenario.hold and result["open_streams"] < scenario.connections:
            self.problems.append(f"{where}: {result['open_streams']} of {scenario.connections} streams were opened")

    def _attempt(self, scenario, target):
        """One measurement of a fresh process."""
        target.start()
        try:
            before = self.engines.requests()
            command = [self.load_binary, "--port", target.port, "--header", "authorization: Bearer sk-bench",
                       "--helper", self.engines.process.popen.pid, "--watched-core", self.proxy_core,
                       "--load-core", self.load_core, *scenario.arguments()]
            for pid in target.pids():
                command += ["--watch", pid]
            limit = 30 + scenario.start_over + scenario.warm_up + scenario.seconds
            load = Process(command, self.load_core, target.folder / "load.json")
            try:
                load.popen.wait(limit)
            except subprocess.TimeoutExpired:
                raise BenchError(f"the load client was still busy after {limit:g} s") from None
            finally:
                load.stop()
            if load.popen.returncode != 0:
                raise BenchError(load.end_of_log())
            result = json.loads(load.log.read_text())
            result["drained"] = self.engines.drained()
            result["engine_requests"] = int(self.engines.requests() - before)
            return result
        finally:
            target.stop()
            self.engines.drained()


def shown(value, figure):
    return "–" if value is None else f"{value * figure.scale:,.{figure.digits}f}"
