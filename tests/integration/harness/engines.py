"""Real inference servers: llama.cpp with a real model, and llm-d-inference-sim, which emulates vLLM."""

import os
from pathlib import Path

import httpx

from harness.processes import HOST, Process, until

CACHE = Path(
    os.environ.get("FAREWAY_TEST_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fareway"
)
LLAMA_SERVER = CACHE / "engines" / "llama-server"
LLAMA_MODEL = CACHE / "engines" / "gemma.gguf"
WITNESS = CACHE / "witness" / "llm-d-inference-sim"
NODE_CLIENTS = CACHE / "node"


class Engine:
    """An inference server of its own process. `url` is its address; it is ready when `start` returns."""

    name = ""
    model = ""

    def __init__(self, folder, port):
        self.folder, self.port, self.process = folder, port, None
        self.url = f"http://{HOST}:{port}"
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def command(self):
        raise NotImplementedError

    def environment(self):
        return {}

    def start(self):
        self.process = Process(self.name, self.command(), self.folder, self.environment())
        until(self._healthy, 60, f"{self.name} is healthy", self.process)
        return self

    def _healthy(self):
        try:
            return self.client.get("/health").status_code == 200
        except httpx.TransportError:
            return False

    def metric(self, name):
        """Value of the first series of that name."""
        for line in self.client.get("/metrics").text.splitlines():
            if line.startswith((name + "{", name + " ")):
                return float(line.rsplit(" ", 1)[1])
        raise AssertionError(f"{self.name} has no metric {name}")

    def stop(self):
        if self.process:
            self.process.stop()


class LlamaServer(Engine):
    """One thread and no polling: two spinning threads would starve everything else on a two-core machine."""

    name = "llama-server"
    model = "gemma-3-270m"
    slots = 4
    context = 1024  # tokens a slot

    def command(self):
        return [
            LLAMA_SERVER, "-m", LLAMA_MODEL, "--alias", self.model, "--host", HOST, "--port", self.port,
            "--metrics", "--slots", "--embeddings", "--pooling", "mean", "--jinja",
            "-c", self.slots * self.context, "-np", self.slots, "-t", 1, "--poll", 0, "--no-warmup",
        ]  # fmt: skip

    def busy_slots(self):
        return sum(slot["is_processing"] for slot in self.client.get("/slots").json())


class InferenceSim(Engine):
    """Four seats, 20 ms a token and a small KV pool, so that a handful of requests make every gauge move."""

    name = "llm-d-inference-sim"
    model = "fake/model"
    seats = 4
    blocks, block_tokens = 64, 16

    def command(self):
        return [
            WITNESS, "--model", self.model, "--port", self.port, "--force-dummy-tokenizer",
            "--max-num-seqs", self.seats, "--time-to-first-token", "100ms", "--inter-token-latency", "20ms",
            "--enable-kvcache", "--kv-cache-size", self.blocks, "--block-size", self.block_tokens,
        ]  # fmt: skip

    def environment(self):
        return {"POD_IP": HOST}  # it will not keep a KV cache without an address to publish events for
