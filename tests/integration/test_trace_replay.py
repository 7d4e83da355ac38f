"""Two thousand requests of a public trace through the gateway: every one answered, every dollar accounted for."""

import pytest

from harness import fareway
from harness.money import assert_conserved
from harness.replay import NANO, TRACE, WORKLOAD, read_trace, replay

REQUESTS = 2000
SPEED = 6.0  # 424 s of trace in 71 s


@pytest.fixture(scope="module")
def result(folder):
    if not TRACE.exists():
        pytest.skip("the public trace is not at hand; FAREWAY_SHARED names the folder that has it (see harness/replay.py)")
    done = replay(folder, read_trace(count=REQUESTS), SPEED)
    print("\n" + done.table())
    return done


@pytest.mark.timeout(400)
def test_every_request_is_answered_whole(result):
    failures = [(number, answer) for number, answer in enumerate(result.answers) if answer != (200, True)]
    assert failures == []
    assert result.exit_status == 0


def test_the_ledger_has_one_row_a_request(result):
    rows = result.ledger.requests()
    assert len(rows) == REQUESTS
    assert {row["outcome"] for row in rows} == {"complete"}
    assert {row["usage_source"] for row in rows} == {"engine"}
    assert sum(count for count, _ in result.by_pool_and_class().values()) == REQUESTS


def test_lengths_are_the_traces(result):
    arrivals = read_trace(count=REQUESTS)
    prompt, completion = result.tokens()
    assert completion == sum(arrival.output for arrival in arrivals)
    # The chat template adds a few tokens to each prompt.
    assert 0 <= prompt - sum(arrival.prompt for arrival in arrivals) <= 16 * REQUESTS


def test_charges_and_idle_are_price_times_hours(result):
    assert_conserved(result.ledger, result.config)


def test_classes_go_where_their_dollars_are_least(result):
    table = result.by_pool_and_class()
    product = sum(key == "sk-demo-product" for key, _, _ in WORKLOAD) * REQUESTS // len(WORKLOAD)
    assert table["mi300x", "interactive"][0] == product, "qwen runs on MI300X only"
    kimi = {row["pool"] for row in result.ledger.query(
        "SELECT DISTINCT pool FROM charges JOIN requests USING (request_id) WHERE model = 'kimi-k2'")}  # fmt: skip
    assert kimi <= {"mi355x", "b300"}


def test_the_report_adds_up_to_the_ledger(result):
    (spent,) = result.ledger.query("SELECT sum(cost_nanousd) AS nano FROM charges")
    (idle,) = result.ledger.query("SELECT sum(idle_nanousd) AS nano FROM idle_costs")
    for by in ("pool", "class", "tenant", "model"):
        report = fareway.report(result.ledger.path, by)
        assert report["total"]["requests"] == REQUESTS
        assert report["total"]["cost_nanousd"] == spent["nano"]
        assert sum(line["cost_nanousd"] for line in report["lines"]) == spent["nano"]
        assert report["total"]["price_nanousd"] == round(result.price() * NANO)
    assert fareway.report(result.ledger.path, "pool")["total"]["idle_nanousd"] == idle["nano"]
