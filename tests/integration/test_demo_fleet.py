"""The demo fleet of deploy/demo.yaml on free ports: requests go where their dollars are least, and a dying pool loses none."""

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from harness import configs, fareway
from harness.money import assert_conserved
from harness.processes import until

PRODUCT, RESEARCH, NIGHTLY = "sk-demo-product", "sk-demo-research", "sk-demo-nightly"
GLM, QWEN = "glm-4.6", "qwen3.8-27b"
TIME_SCALE = 20  # a cold prompt of 200,000 tokens takes long even on these devices


class Fleet:
    def __init__(self, folder, time_scale):
        self.config = configs.demo_fleet()
        self.config["emulator"] = {"time_scale": time_scale}
        self.emulators = fareway.Emulators(self.config, folder)
        self.gateway = fareway.Gateway(self.config, folder)

    def __enter__(self):
        self.emulators.start()
        self.gateway.start()
        return self

    def __exit__(self, *_):
        self.gateway.stop()
        self.emulators.stop()


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path, TIME_SCALE) as running:
        yield running


def words(tokens, seed="word"):
    """Text of that many tokens of the emulated tokenizer: four bytes each."""
    return (f"{seed} " * tokens)[: 4 * tokens]


def candidates(gateway, answer):
    """Candidates of the last attempt of an answered request, by replica."""
    decision = gateway.decision(answer.headers["x-request-id"])
    return {each["replica"]: each for each in decision["attempts"][-1]["candidates"]}


def chosen(gateway, answer):
    (replica,) = [name for name, each in candidates(gateway, answer).items() if each["chosen"]]
    return replica


def test_a_session_of_200k_tokens_goes_to_large_memory_and_stays(fleet):
    gateway = fleet.gateway
    session = {"x-session-id": "long-one"}
    prompt = words(195_000)
    answer = gateway.chat(GLM, prompt, key=RESEARCH, headers=session, max_tokens=16)
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-fareway-pool"] in ("mi355x", "b300")
    seen = candidates(gateway, answer)
    assert {name: seen[name]["excluded_by"] for name in ("mi300x-glm", "b200-glm")} == {
        "mi300x-glm": "context", "b200-glm": "context"
    }  # fmt: skip
    # The next turn would cost a cold prefill of 195,000 tokens anywhere else.
    home = chosen(gateway, answer)
    turns = [{"role": "user", "content": prompt},
             {"role": "assistant", "content": answer.json()["choices"][0]["message"]["content"]},
             {"role": "user", "content": "And then?"}]  # fmt: skip
    follow_up = gateway.post("/v1/chat/completions", {"model": GLM, "messages": turns, "max_tokens": 16}, RESEARCH, session)
    assert follow_up.status_code == 200, follow_up.text
    assert chosen(gateway, follow_up) == home
    assert candidates(gateway, follow_up)[home]["cached_tokens"] > 190_000
    assert follow_up.json()["usage"]["prompt_tokens_details"]["cached_tokens"] > 190_000


def test_interactive_requests_go_to_the_tensor_parallel_pair(fleet):
    gateway = fleet.gateway
    answer = gateway.chat(QWEN, words(3000), key=PRODUCT, max_tokens=64)
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-fareway-class"] == "interactive"
    assert chosen(gateway, answer) == "mi300x-qwen-pair"
    dollars = {name: each["usd"] for name, each in candidates(gateway, answer).items()}
    assert dollars["mi300x-qwen-pair"]["own_miss"] < dollars["mi300x-qwen-a"]["own_miss"], "the pair is worth it for its TPOT"


def test_batch_requests_go_where_they_are_cheapest(fleet):
    gateway = fleet.gateway
    for model in (QWEN, GLM):
        answer = gateway.chat(model, words(3000), key=NIGHTLY, max_tokens=64)
        assert answer.status_code == 200, answer.text
        assert answer.headers["x-fareway-class"] == "batch"
        gpu = {name: each["usd"]["gpu"] for name, each in candidates(gateway, answer).items() if each["usd"]}
        assert gpu[chosen(gateway, answer)] == min(gpu.values()), gpu


def test_the_class_header_outranks_the_keys_class(fleet):
    gateway = fleet.gateway
    batch = gateway.chat(QWEN, words(500), key=PRODUCT, headers={"x-fareway-class": "batch"}, max_tokens=8)
    assert (batch.status_code, batch.headers["x-fareway-class"]) == (200, "batch")
    assert gateway.chat(QWEN, "Hello", key=PRODUCT, headers={"x-fareway-class": "no-such"}).status_code == 400


def test_explain_says_why_of_a_request_that_was_sent_and_of_one_that_was_not(fleet, tmp_path):
    gateway = fleet.gateway
    answer = gateway.chat(QWEN, words(3000), key=PRODUCT, max_tokens=64)
    assert answer.status_code == 200, answer.text
    request_id = answer.headers["x-request-id"]
    sent = fareway.command("explain", request_id, "--admin", gateway.admin_url)
    assert sent.returncode == 0, sent.stderr
    assert sent.stdout.startswith(request_id)
    assert "mi300x-qwen-pair costs $" in sent.stdout.replace("\n", " ")
    assert "It ended as complete" in sent.stdout.replace("\n", " ")
    assert "> mi300x-qwen-pair" in sent.stdout

    body = tmp_path / "body.json"
    body.write_text(json.dumps({"model": GLM, "messages": [{"role": "user", "content": words(190_000)}], "max_tokens": 16}))
    live = fareway.command("explain", "--request", body, "--key", "research", "--admin", gateway.admin_url)
    idle = fareway.command("explain", "--request", body, "--key", "research", "--config", gateway.path)
    for told in (live, idle):
        assert told.returncode == 0, told.stderr
        assert "cannot hold" in told.stdout and "(context)" in told.stdout
    rows = gateway.ledger.requests()
    assert [row["request_id"] for row in rows] == [request_id], "what is only explained is not sent"


def test_explain_says_what_is_wrong_with_the_question(fleet):
    gateway = fleet.gateway
    unknown = fareway.command("explain", "no-such-request", "--admin", gateway.admin_url)
    assert unknown.returncode == 1 and "no decision with this request id" in unknown.stderr
    nobody = fareway.command("explain", "x", "--admin", "http://127.0.0.1:1")
    assert nobody.returncode == 1 and "no gateway answers at 127.0.0.1:1" in nobody.stderr


class Traffic:
    """Clients that ask for GLM one request after another until told to stop; every other answer is a stream."""

    CLIENTS = 12

    def __init__(self, gateway):
        self.gateway, self.stopping = gateway, threading.Event()
        self.results = []  # (streamed, status, "whole" | "broken" | what was raised)

    def __enter__(self):
        self.pool = ThreadPoolExecutor(self.CLIENTS)
        self.clients = [self.pool.submit(self._client, number) for number in range(self.CLIENTS)]
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for client in self.clients:
            client.result()
        self.pool.shutdown()

    def _client(self, number):
        turn = 0
        while not self.stopping.is_set():
            stream = (number + turn) % 2 == 0
            self.results.append((stream, *self._ask(words(800, f"{number}-{turn}"), stream)))
            turn += 1

    def _ask(self, text, stream):
        body = {"model": GLM, "messages": [{"role": "user", "content": text}], "max_tokens": 200, "stream": stream}
        try:
            with httpx.stream("POST", self.gateway.url + "/v1/chat/completions", json=body, timeout=30,
                              headers={"authorization": f"Bearer {NIGHTLY}"}) as answer:  # fmt: skip
                text = "".join(answer.iter_text())
                if stream:
                    return answer.status_code, "whole" if text.rstrip().endswith("[DONE]") and "error" not in text else "broken"
                return answer.status_code, "whole" if json.loads(text)["usage"]["completion_tokens"] == 200 else "broken"
        except httpx.TransportError as error:
            return 200 if stream else 0, f"broken: {error.__class__.__name__}"


def busiest_pool(gateway):
    """A pool with several requests in flight, other than which the model still has pools."""
    in_flight = Counter()
    for pool in gateway.fleet()["pools"]:
        for replica in pool["replicas"]:
            in_flight[pool["pool"]] += sum(replica["in_flight"].values())
    pool, requests = in_flight.most_common(1)[0]
    return pool if requests >= 3 else None


def test_a_pool_that_dies_under_traffic_loses_no_request_that_had_not_begun(tmp_path):
    with Fleet(tmp_path, time_scale=5) as fleet:
        gateway = fleet.gateway
        with Traffic(gateway) as traffic:
            until(lambda: len(traffic.results) >= 24, 30, "traffic flows")
            pool = until(lambda: busiest_pool(gateway), 10, "a pool is busy")
            fleet.emulators.kill(pool)
            so_far = len(traffic.results)
            until(lambda: len(traffic.results) >= so_far + 36, 30, "traffic flows on without it")
            until(lambda: all(each["health"]["state"] == "out" for name, each in gateway.replicas().items()
                              if name.startswith(pool + "-")), 15, "the pool is out of rotation")  # fmt: skip
            until(lambda: f"{pool}-glm left rotation" in gateway.process.log_text(), 5, "the log says that it left")
            fleet.emulators.start(pool)
            gateway.wait_until_serving(seconds=90)

        unstreamed = [result for result in traffic.results if not result[0]]
        assert {result[1:] for result in unstreamed} == {(200, "whole")}, "an answer without a byte sent is retried elsewhere"
        streamed = [result for result in traffic.results if result[0]]
        assert {status for _, status, _ in streamed} == {200}
        broken = [result for result in streamed if result[2] != "whole"]
        assert len(broken) <= Traffic.CLIENTS, "only streams that were under way at the kill may break"

        rows = gateway.ledger.requests()
        assert len(rows) == len(traffic.results), "one row a request"
        assert Counter(row["outcome"] for row in rows) == Counter(
            {"complete": len(rows) - len(broken), **({"incomplete": len(broken)} if broken else {})}
        )
        retried = gateway.ledger.query("SELECT request_id, count(*) AS attempts FROM charges GROUP BY 1 HAVING attempts > 1")
        assert retried, "no request was on the pool when it died, so the test shows nothing"
        for row in retried:
            first, second, *_ = gateway.ledger.charges(row["request_id"])
            assert first["pool"] == pool and second["pool"] != pool

        assert gateway.stop() == 0
        assert_conserved(gateway.ledger, fleet.config)


def test_charges_and_idle_are_price_times_hours(fleet):
    gateway = fleet.gateway
    for number in range(8):
        assert gateway.chat(QWEN, words(400, str(number)), key=PRODUCT, max_tokens=40).status_code == 200
    assert gateway.stop() == 0
    assert len(gateway.ledger.requests()) == 8
    assert_conserved(gateway.ledger, fleet.config)
