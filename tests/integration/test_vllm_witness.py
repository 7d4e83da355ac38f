"""llm-d-inference-sim, an emulator of vLLM that knows nothing of Fareway, as witness for the vLLM adapter."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import configs, engines, fareway
from harness.processes import free_ports, until

LONG = 250  # tokens at 20 ms each: five seconds in which nothing changes


@pytest.fixture(scope="module")
def sim(folder):
    if not engines.WITNESS.exists():
        pytest.skip("llm-d-inference-sim is not there; tests/integration/setup builds it where Go is installed")
    server = engines.InferenceSim(folder, free_ports(1)[0])
    yield server.start()
    server.stop()


@pytest.fixture(scope="module")
def gateway(sim, folder):
    config = configs.in_front_of(sim, "vllm", context=1024, seats=sim.seats)
    with fareway.Gateway(config, folder) as running:
        yield running


def reported(gateway):
    return gateway.replicas()["only-replica"]["reported"]


def witnessed(sim):
    """What the witness says of itself, read by other code than the adapter."""
    return {
        "running": sim.metric("vllm:num_requests_running"),
        "waiting": sim.metric("vllm:num_requests_waiting"),
        "kv_usage": pytest.approx(sim.metric("vllm:kv_cache_usage_perc"), abs=1e-6),
    }


def agrees(gateway, sim, **expected):
    seen, truth = reported(gateway), witnessed(sim)
    return all(seen[name] == value for name, value in {**truth, **expected}.items())


def test_idle(gateway, sim):
    until(lambda: agrees(gateway, sim, running=0, waiting=0), 5, "an idle engine is shown as idle")
    assert reported(gateway)["kv_capacity_tokens"] == sim.blocks * sim.block_tokens


def test_under_load_of_our_own_and_of_others(gateway, sim):
    words = "Tell the people of the world about number {} and everything that follows from it, at length and in full."
    body = {"model": sim.model, "max_tokens": LONG, "ignore_eos": True}

    def ours(number):
        return gateway.chat(sim.model, words.format(number), max_tokens=LONG, ignore_eos=True)

    def foreign(number):
        messages = [{"role": "user", "content": words.format(number)}]
        return sim.client.post("/v1/chat/completions", json={**body, "messages": messages})

    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(ours, number) for number in range(5)] + [pool.submit(foreign, number) for number in (7, 8)]
        # Four seats, seven requests.
        until(lambda: agrees(gateway, sim, running=4, waiting=3), 5, "the fleet page shows what the engine shows")
        assert reported(gateway)["kv_usage"] > 0
        in_flight = gateway.replicas()["only-replica"]["in_flight"]
        assert sum(in_flight.values()) == 5, "in flight are the router's own requests only"
        for answer in answers:
            assert answer.result().status_code == 200
    until(lambda: agrees(gateway, sim, running=0, waiting=0), 5, "the load is gone")


def test_usage_of_the_witness_reaches_the_ledger(gateway, sim):
    answer = gateway.chat(sim.model, "Hello", max_tokens=12, ignore_eos=True)
    usage = answer.json()["usage"]
    assert gateway.ledger.tokens_of(answer.headers["x-request-id"]) == (
        usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"], usage["completion_tokens"]
    )  # fmt: skip


def test_its_death_and_return_are_noticed(gateway, sim):
    sim.process.kill()
    until(lambda: gateway.replicas()["only-replica"]["health"]["state"] == "out", 10, "the replica is out")
    sim.start()
    gateway.wait_until_serving(seconds=15)
