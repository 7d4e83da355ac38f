"""The built binary: the gateway, emulated engines, and one-shot commands."""

import json
import os
import subprocess
from pathlib import Path

import httpx

from harness import configs
from harness.ledger import Ledger
from harness.processes import Process, until

BINARY = Path(os.environ.get("FAREWAY_BINARY") or configs.SOURCE / "build" / "release" / "router" / "fareway")


def command(*arguments, folder=None):
    """Runs `fareway ARGUMENTS` to its end."""
    words = [str(word) for word in (BINARY, *arguments)]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


class Gateway:
    """`fareway serve` on a configuration; its ledger lies in `folder`, unless the configuration says otherwise."""

    def __init__(self, config, folder, name="gateway"):
        self.config, self.folder, self.name = config, Path(folder), name
        self.path = configs.write(config, folder)
        self.url = f"http://{config['listen']}"
        self.admin_url = f"http://{config['admin']}"
        self.ledger = Ledger(self.folder / config["ledger"]["file"])
        self.admin = httpx.Client(base_url=self.admin_url, timeout=10)
        self.process = None

    def launch(self):
        """Starts the process and returns at once."""
        self.process = Process(self.name, [BINARY, "serve", "--config", self.path], self.folder)
        return self.process

    def start(self):
        """Starts the process and returns once every replica is in rotation."""
        self.launch()
        self.wait_until_serving()
        return self

    def wait_until_serving(self, seconds=60):
        until(lambda: self._states() == {"serving"}, seconds, "every replica serves", self.process)

    def _states(self):
        try:
            return {replica["health"]["state"] for replica in self.replicas().values()}
        except httpx.TransportError:
            return set()

    def fleet(self):
        return self.admin.get("/admin/v1/fleet").json()

    def replicas(self):
        """Replica by name, as /admin/v1/fleet tells it."""
        return {replica["replica"]: replica for pool in self.fleet()["pools"] for replica in pool["replicas"]}

    def decision(self, request_id):
        return self.admin.get(f"/admin/v1/decisions/{request_id}").json()

    def post(self, path, body, key=configs.KEY, headers=None, timeout=60):
        bearer = {"authorization": f"Bearer {key}", **(headers or {})}
        return httpx.post(self.url + path, json=body, headers=bearer, timeout=timeout)

    def chat(self, model, words, key=configs.KEY, headers=None, **fields):
        body = {"model": model, "messages": [{"role": "user", "content": words}], **fields}
        return self.post("/v1/chat/completions", body, key, headers)

    def stop(self):
        return self.process.stop() if self.process else None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


class Emulators:
    """One `fareway emulate` process for each pool of a configuration."""

    def __init__(self, config, folder):
        self.config, self.folder = config, folder
        self.path = configs.write(config, folder)
        self.processes = {}

    def start(self, *pools):
        for pool in pools or configs.pool_names(self.config):
            words = [BINARY, "emulate", "--config", self.path, "--pool", pool]
            self.processes[pool] = Process(f"emulate-{pool}", words, self.folder)
        return self

    def kill(self, pool):
        self.processes[pool].kill()

    def stop(self):
        for process in self.processes.values():
            process.stop()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


def report(ledger_path, by, *extra):
    """`fareway ledger report --json`, parsed."""
    done = command("ledger", "report", "--ledger", ledger_path, "--by", by, "--json", *extra)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
