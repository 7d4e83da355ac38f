"""What clients see when a real engine dies, comes back, or loses its client."""

import time

import anthropic
import httpx
import openai
import pytest

from harness.configs import KEY
from harness.processes import until

MANY = 900  # tokens: many seconds of decoding, so the answer is always cut from outside


@pytest.fixture(scope="module")
def client(gateway):
    return openai.OpenAI(base_url=gateway.url + "/v1", api_key=KEY, max_retries=0, timeout=60)


def open_stream(client, llama):
    raw = client.chat.completions.with_raw_response.create(
        model=llama.model, messages=[{"role": "user", "content": "Count to a thousand."}], max_tokens=MANY, stream=True,
        extra_body={"ignore_eos": True},
    )  # fmt: skip
    return raw.headers["x-request-id"], raw.parse()


def test_a_client_that_leaves_frees_the_engine(client, llama, gateway):
    request_id, stream = open_stream(client, llama)
    events = iter(stream)
    for _ in range(3):
        next(events)
    assert llama.busy_slots() == 1
    left = time.monotonic()
    stream.response.close()
    until(lambda: llama.busy_slots() == 0, 2, "llama.cpp's slot is idle again")
    assert time.monotonic() - left < 2
    row = gateway.ledger.row_soon(request_id)
    assert (row["outcome"], row["usage_source"]) == ("client_closed", "counted")
    assert 0 < row["completion_tokens"] < MANY
    replica = gateway.replicas()["only-replica"]
    assert replica["health"]["state"] == "serving", "a client that leaves says nothing about the engine"
    assert replica["in_flight"] == {"decoding": 0, "before_first_token": 0}


def test_a_client_that_leaves_before_the_first_token_is_passed_on_at_once(llama, gateway):
    prompt = "the quick brown fox " * 180  # seconds of prefill
    before = len(gateway.ledger.requests())
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(gateway.url + "/v1/chat/completions", timeout=0.3,
                   headers={"authorization": f"Bearer {KEY}"},
                   json={"model": llama.model, "messages": [{"role": "user", "content": prompt}], "max_tokens": 200,
                         "ignore_eos": True, "cache_prompt": False, "stream": True})  # fmt: skip
    until(lambda: len(gateway.ledger.requests()) > before, 5, "the row is written")
    row = gateway.ledger.requests()[-1]
    assert row["outcome"] == "client_closed"
    assert row["ttft_seconds"] is None and row["usage_source"] == "unknown"
    assert row["duration_seconds"] < 2, "the engine's connection was closed when the client left"
    # llama.cpp looks for a lost client between two batches, so the prefill under way is finished first.
    until(lambda: llama.busy_slots() == 0, 30, "llama.cpp's slot is idle again")


def test_an_engine_that_dies_mid_stream_is_never_taken_for_complete(client, llama, gateway):
    request_id, stream = open_stream(client, llama)
    events = iter(stream)
    next(events)
    llama.process.kill()
    with pytest.raises((openai.APIError, httpx.TransportError)):
        for _ in events:
            pass
    row = gateway.ledger.row_soon(request_id)
    assert row["outcome"] == "incomplete"
    assert len(gateway.ledger.charges(request_id)) == 1, "an answer that has begun is never tried again"


def test_a_dead_engine_is_a_server_error_and_comes_back_by_itself(client, llama, gateway):
    # Follows the kill above, or kills it now: each test stands alone.
    llama.process.kill()
    question = {"model": llama.model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
    with pytest.raises(openai.InternalServerError) as caught:
        client.chat.completions.create(**question)
    assert caught.value.status_code in (502, 503)
    claude = anthropic.Anthropic(base_url=gateway.url, api_key=KEY, max_retries=0)
    with pytest.raises(anthropic.APIStatusError) as caught:
        claude.messages.create(**question)
    assert caught.value.status_code in (502, 503)

    until(lambda: gateway.replicas()["only-replica"]["health"]["state"] == "out", 10, "the replica is out of rotation")
    with pytest.raises(openai.InternalServerError) as caught:
        client.chat.completions.create(**question)
    assert caught.value.status_code == 503
    assert int(caught.value.response.headers["retry-after"]) >= 1
    assert gateway.admin.get("/readyz").status_code == 503

    llama.start()
    gateway.wait_until_serving(seconds=15)
    assert client.chat.completions.create(**question).usage.completion_tokens == 4
