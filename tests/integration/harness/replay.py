"""Replays a request trace through the running gateway onto the emulated demo fleet, and adds up the dollars.

The trace gives arrival times, prompt and answer lengths; who asks is dealt out by row number (`WORKLOAD`). With `speed` 6
the emulated engines and the arrivals both run six times as fast. The meter charges real seconds, so dollars are multiplied
by `speed` again; what the router predicts from profiles is then slower than what it sees, so exact tables use speed 1.
"""

import asyncio
import csv
import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from harness import configs, fareway

# Azure LLM inference trace 2023, conversations: AzureLLMInferenceTrace_conv.csv of github.com/Azure/AzurePublicDataset, CC-BY
# 4.0. Not part of this repository: FAREWAY_SHARED names a folder that has it, by default `shared` beside the clone.
SHARED = Path(os.environ.get("FAREWAY_SHARED") or Path(__file__).resolve().parents[4] / "shared")
TRACE = SHARED / "data" / "traces" / "azure_llm_2023_conv.csv"
NANO = 1e9
BYTES_PER_TOKEN = 4  # of the emulated tokenizer

# Ten requests in a row: six of a product's chat, two of research, two of a nightly batch.
PRODUCT = ("sk-demo-product", "qwen3.8-27b", True)
WORKLOAD = (
    PRODUCT,
    ("sk-demo-research", "glm-4.6", True),
    PRODUCT,
    PRODUCT,
    ("sk-demo-nightly", "qwen3.8-27b", False),
    PRODUCT,
    ("sk-demo-research", "kimi-k2", True),
    PRODUCT,
    PRODUCT,
    ("sk-demo-nightly", "glm-4.6", False),
)


@dataclass(frozen=True)
class Arrival:
    seconds: float  # after the first
    prompt: int
    output: int


def read_trace(path=TRACE, count=None):
    with Path(path).open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))[:count]
    # The seventh decimal is beyond what datetime keeps.
    times = [datetime.fromisoformat(row["TIMESTAMP"][:26]) for row in rows]
    return [
        Arrival((time - times[0]).total_seconds(), int(row["ContextTokens"]), max(1, int(row["GeneratedTokens"])))
        for time, row in zip(times, rows, strict=True)
    ]


def body_of(number, arrival):
    """A prompt of the trace's length whose words differ from every other row's, so that no prefix is shared by accident."""
    _, model, stream = WORKLOAD[number % len(WORKLOAD)]
    words = f"{number:07d} "
    text = (words * (arrival.prompt * BYTES_PER_TOKEN // len(words) + 1))[: arrival.prompt * BYTES_PER_TOKEN]
    return json.dumps({
        "model": model, "messages": [{"role": "user", "content": text}], "max_tokens": arrival.output, "stream": stream,
    }).encode()  # fmt: skip


async def ask(address, number, arrival):
    """Sends one request over its own connection; (status, whether the answer came whole)."""
    key, _, stream = WORKLOAD[number % len(WORKLOAD)]
    body = body_of(number, arrival)
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\nconnection: close\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
        )
        await writer.drain()
        answer = bytearray()
        while piece := await reader.read(1 << 16):
            answer += piece
    finally:
        writer.close()
    status = int(answer[9:12] or 0)
    whole = b"data: [DONE]" in answer[-64:] if stream else answer.rstrip().endswith(b"}")
    return status, status == 200 and whole


async def drive(address, arrivals, speed):
    """All requests at their times, divided by `speed`; one result each, in order."""
    loop = asyncio.get_running_loop()
    start = loop.time()

    async def at_its_time(number, arrival):
        await asyncio.sleep(max(0.0, start + arrival.seconds / speed - loop.time()))
        try:
            return await ask(address, number, arrival)
        except OSError as error:
            return 0, f"{error.__class__.__name__}: {error}"

    return await asyncio.gather(*(at_its_time(number, arrival) for number, arrival in enumerate(arrivals)))


@dataclass
class Replayed:
    answers: list  # (status, whole) of each request
    ledger: object
    speed: float
    config: dict
    exit_status: int

    def by_pool_and_class(self):
        """Requests (where they ended) and emulated dollars (where they were spent), by pool and class."""
        spent = self.ledger.query(
            "SELECT c.pool, r.service_class AS class, sum(c.cost_nanousd) AS nano, "
            "sum(c.attempt = (SELECT max(attempt) FROM charges l WHERE l.request_id = c.request_id)) AS requests "
            "FROM charges c JOIN requests r USING (request_id) GROUP BY c.pool, r.service_class"
        )
        return {(row["pool"], row["class"]): (row["requests"], row["nano"] / NANO * self.speed) for row in spent}

    def idle_by_pool(self):
        rows = self.ledger.query("SELECT pool, sum(idle_nanousd) AS nano FROM idle_costs GROUP BY pool")
        return {row["pool"]: row["nano"] / NANO * self.speed for row in rows}

    def price(self):
        (row,) = self.ledger.query("SELECT sum(price_nanousd) AS nano FROM requests")
        return (row["nano"] or 0) / NANO

    def tokens(self):
        (row,) = self.ledger.query("SELECT sum(prompt_tokens) AS prompt, sum(completion_tokens) AS completion FROM requests")
        return row["prompt"] or 0, row["completion"] or 0

    def table(self):
        """The bill as text: a row a pool, requests and dollars a class, and what idled."""
        cells, idle = self.by_pool_and_class(), self.idle_by_pool()
        classes = [each["name"] for each in self.config["classes"]]
        lines = ["| pool | " + " | ".join(f"{name} | $" for name in classes) + " | idle $ | all $ |",
                 "| --- |" + " ---: |" * (2 * len(classes) + 2)]  # fmt: skip
        totals = [0.0] * (2 * len(classes) + 2)
        for pool in configs.pool_names(self.config):
            row = [amount for name in classes for amount in cells.get((pool, name), (0, 0.0))]
            row += [idle.get(pool, 0.0)]
            row += [sum(row[1 : 2 * len(classes) : 2]) + row[-1]]
            totals = [total + amount for total, amount in zip(totals, row, strict=True)]
            lines.append(self._line(pool, row))
        lines.append(self._line("all", totals))
        return "\n".join(lines)

    @staticmethod
    def _line(name, row):
        counts = [f"{count:.0f} | {dollars:.4f}" for count, dollars in zip(row[:-2:2], row[1:-2:2], strict=True)]
        return f"| {name} | " + " | ".join(counts) + f" | {row[-2]:.4f} | {row[-1]:.4f} |"


def replay(folder, arrivals, speed):
    """Starts the demo fleet and the gateway on free ports, replays, and stops both, so that the ledger is complete."""
    config = configs.demo_fleet()
    config["emulator"] = {"time_scale": speed}
    with fareway.Emulators(config, folder):
        gateway = fareway.Gateway(config, folder).start()
        try:
            answers = asyncio.run(drive(config["listen"], arrivals, speed))
        finally:
            exit_status = gateway.stop()
    return Replayed(answers, gateway.ledger, speed, config, exit_status)
