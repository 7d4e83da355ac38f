"""The official Node clients through the gateway, on llama.cpp with a real model."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.configs import KEY
from harness.engines import NODE_CLIENTS

SCRIPT = Path(__file__).parent / "clients" / "clients.mjs"


@pytest.fixture(scope="module")
def results(gateway, llama):
    """What clients.mjs printed: one entry a call."""
    if not shutil.which("node") or not (NODE_CLIENTS / "node_modules" / "openai").is_dir():
        pytest.skip("Node or its clients are not there; tests/integration/setup brings them")
    done = subprocess.run(
        ["node", SCRIPT, gateway.url, KEY, llama.model],
        env={**os.environ, "FAREWAY_NODE_CLIENTS": str(NODE_CLIENTS)},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_chat_equals_the_engines_own_answer(results, llama, gateway):
    answer = results["chat"]
    body = {"model": llama.model, "messages": [{"role": "user", "content": "Name three colours of the rainbow."}],
            "max_tokens": 12, "temperature": 0, "seed": 7, "cache_prompt": False}  # fmt: skip
    direct = llama.client.post("/v1/chat/completions", json=body).json()
    assert answer["text"] == direct["choices"][0]["message"]["content"]
    assert answer["usage"] == direct["usage"]
    assert gateway.ledger.tokens_of(answer["id"]) == (
        answer["usage"]["prompt_tokens"], answer["usage"]["prompt_tokens_details"]["cached_tokens"], 12
    )  # fmt: skip


def test_a_stream_gives_the_same_text_and_no_foreign_chunk(results, gateway):
    stream = results["chat_stream"]
    assert stream["text"] == results["chat"]["text"]
    assert stream["chunks_without_choices"] == 0
    assert gateway.ledger.row(stream["id"])["completion_tokens"] == 12


@pytest.mark.parametrize("call", ["completions", "responses"])
def test_other_openai_endpoints(results, call):
    assert results[call].get("text"), results[call]


def test_embeddings(results):
    assert results["embeddings"].get("size") == 640, results["embeddings"]


def test_models(results, llama):
    assert results["models"] == {"ids": [llama.model]}


def test_messages(results, gateway):
    answer = results["messages"]
    assert answer.get("text"), answer
    assert gateway.ledger.row(answer["id"])["completion_tokens"] == answer["usage"]["output_tokens"]


def test_messages_stream(results):
    assert results["messages_stream"].get("text"), results["messages_stream"]
    assert results["messages_stream"]["text"] == results["messages_stream"]["final"]


@pytest.mark.parametrize(
    ("call", "name", "status"),
    [
        ("wrong_key", "AuthenticationError", 401),
        ("wrong_model", "NotFoundError", 404),
        ("bad_body", "BadRequestError", 400),
        ("anthropic_wrong_model", "NotFoundError", 404),
    ],
)
def test_errors_throw_the_clients_own_classes(results, call, name, status):
    assert (results[call]["threw"], results[call]["status"]) == (name, status), results[call]
