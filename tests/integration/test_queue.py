"""Requests that nobody can serve now, as the official clients see them, in front of an emulated engine that a rule opens to one request."""

import signal
import threading
from types import SimpleNamespace

import anthropic
import httpx
import openai
import pytest

from harness import configs, fareway
from harness.processes import free_ports, until

MODEL = "small"
QUESTION = {"model": MODEL, "messages": [{"role": "user", "content": "Go on"}], "max_tokens": 4}


def config_for(engine, max_wait="300ms"):
    config = configs.in_front_of(engine, "vllm", context=8192, seats=8)
    config["deployments"][0]["speed"] = {"step_floor": "50ms"}
    config["rules"] = [{"name": "one-at-a-time", "action": "cap", "pools": ["only-pool"], "max_in_flight": 1}]
    config["queue"] = {"max_wait": max_wait}
    return config


@pytest.fixture(scope="module")
def engine(folder):
    emulated = SimpleNamespace(model=MODEL, port=free_ports(1)[0])
    with fareway.Emulators(config_for(emulated), folder):
        yield emulated


@pytest.fixture
def gateway(engine, tmp_path):
    with fareway.Gateway(config_for(engine), tmp_path) as running:
        yield running


class Busy:
    """Keeps the only place taken: a stream of that many tokens of 50 ms."""

    def __init__(self, gateway, tokens):
        body = {**QUESTION, "max_tokens": tokens, "stream": True}
        headers = {"authorization": f"Bearer {configs.KEY}"}
        self.open = httpx.stream("POST", gateway.url + "/v1/chat/completions", json=body, headers=headers, timeout=30)

    def __enter__(self):
        self.lines = self.open.__enter__().iter_lines()
        next(self.lines)
        return self

    def __exit__(self, *error):
        self.open.__exit__(*error)

    def finish(self):
        return "\n".join(self.lines)


def waiting(gateway):
    return sum(row["requests"] for row in gateway.admin.get("/admin/v1/queue").json()["waiting"])


def test_clients_raise_a_rate_limit_error_that_says_when_to_come_back(gateway):
    with Busy(gateway, tokens=200):
        client = openai.OpenAI(base_url=gateway.url + "/v1", api_key=configs.KEY, max_retries=0, timeout=30)
        with pytest.raises(openai.RateLimitError) as caught:
            client.chat.completions.create(**QUESTION)
        assert caught.value.code == "waited_too_long"
        assert int(caught.value.response.headers["retry-after"]) >= 1
        claude = anthropic.Anthropic(base_url=gateway.url, api_key=configs.KEY, max_retries=0, timeout=30)
        with pytest.raises(anthropic.RateLimitError) as caught:
            claude.messages.create(**QUESTION)
        assert int(caught.value.response.headers["retry-after"]) >= 1
    rows = [row for row in gateway.ledger.requests() if row["status"] == 429]
    assert len(rows) == 2, "both had waited, so both have a row"
    for row in rows:
        assert row["outcome"] == "failed" and row["prompt_tokens"] is None and row["price_nanousd"] is None
        assert gateway.ledger.charges(row["request_id"]) == []


def test_the_clients_own_tries_wait_until_there_is_room(gateway):
    with Busy(gateway, tokens=30):
        client = openai.OpenAI(base_url=gateway.url + "/v1", api_key=configs.KEY, max_retries=4, timeout=30)
        assert client.chat.completions.create(**QUESTION).usage.completion_tokens == 4


def test_a_client_that_leaves_while_it_waits_is_forgotten(engine, tmp_path):
    with fareway.Gateway(config_for(engine, max_wait="60s"), tmp_path) as gateway, Busy(gateway, tokens=60) as busy:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(gateway.url + "/v1/chat/completions", json=QUESTION, timeout=0.3,
                       headers={"authorization": f"Bearer {configs.KEY}"})  # fmt: skip
        until(lambda: waiting(gateway) == 0, 2, "nobody waits any more")
        busy.finish()
        until(lambda: len(gateway.ledger.requests()) == 2, 5, "both rows are written")
        assert {row["outcome"] for row in gateway.ledger.requests()} == {"client_closed", "complete"}


def test_who_waits_at_sigterm_is_still_served(engine, tmp_path):
    with fareway.Gateway(config_for(engine, max_wait="60s"), tmp_path) as gateway:
        answers = []
        with Busy(gateway, tokens=40) as busy:
            waiter = threading.Thread(target=lambda: answers.append(gateway.chat(MODEL, "Go on", max_tokens=4)))
            waiter.start()
            until(lambda: waiting(gateway) == 1, 5, "it waits")
            gateway.process.send(signal.SIGTERM)
            busy.finish()
        waiter.join()
        assert answers[0].status_code == 200
        assert gateway.process.wait(10) == 0


def test_draining_a_replica_sends_it_nothing_more(gateway):
    assert gateway.admin.post("/admin/v1/drain?replica=only-replica").json()["replicas"][0]["draining"] is True
    client = openai.OpenAI(base_url=gateway.url + "/v1", api_key=configs.KEY, max_retries=0, timeout=30)
    with pytest.raises(openai.InternalServerError) as caught:
        client.chat.completions.create(**QUESTION)
    assert caught.value.status_code == 503 and int(caught.value.response.headers["retry-after"]) >= 1
    gateway.admin.post("/admin/v1/undrain?pool=only-pool")
    assert client.chat.completions.create(**QUESTION).usage.completion_tokens == 4
