"""The official Python clients through the gateway, on llama.cpp with a real model: same answers, right money, right errors."""

import anthropic
import httpx
import openai
import pytest

from harness.configs import KEY, KEY_ID, TENANT

# Greedy and without llama.cpp's own prompt cache, so that equal requests have equal answers.
SAME_AGAIN = {"temperature": 0, "seed": 7, "extra_body": {"cache_prompt": False}}
QUESTION = [{"role": "user", "content": "Name three colours of the rainbow."}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.fixture(scope="module")
def client(gateway):
    return openai.OpenAI(base_url=gateway.url + "/v1", api_key=KEY, max_retries=0, timeout=60)


@pytest.fixture(scope="module")
def direct(llama):
    return openai.OpenAI(base_url=llama.url + "/v1", api_key="none", max_retries=0, timeout=60)


@pytest.fixture(scope="module")
def claude(gateway):
    return anthropic.Anthropic(base_url=gateway.url, api_key=KEY, max_retries=0, timeout=60)


def assert_ledger(gateway, request_id, prompt, cached, completion, endpoint):
    """One row, whose counts are the answer's own, priced by the list and charged to the nanodollar by the meter."""
    row = gateway.ledger.row(request_id)
    assert (row["prompt_tokens"], row["cached_tokens"], row["completion_tokens"]) == (prompt, cached, completion)
    assert (row["usage_source"], row["outcome"], row["status"]) == ("engine", "complete", 200)
    assert (row["tenant"], row["key_id"], row["endpoint"]) == (TENANT, KEY_ID, endpoint)
    # $0.10, $0.05 and $0.40 a million tokens are 100, 50 and 400 nanodollars a token.
    assert row["price_nanousd"] == 100 * (prompt - cached) + 50 * cached + 400 * completion
    (charge,) = gateway.ledger.charges(request_id)
    assert charge["pool"] == "only-pool"
    # $3.60 an hour is a million nanodollars a second, all of it this request's while it is alone. The duration on the row
    # begins earlier (at the request) than the meter does (at the placement), so it bounds the charge from above.
    assert 0 < charge["cost_nanousd"] <= row["duration_seconds"] * 1e6 + 1
    return row


def test_chat(client, direct, llama, gateway):
    fields = {"model": llama.model, "messages": QUESTION, "max_tokens": 16, **SAME_AGAIN}
    raw = client.chat.completions.with_raw_response.create(**fields)
    answer, expected = raw.parse(), direct.chat.completions.create(**fields)
    assert answer.choices == expected.choices
    assert answer.usage == expected.usage
    usage = answer.usage
    assert_ledger(gateway, raw.headers["x-request-id"], usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens,
                  usage.completion_tokens, "/v1/chat/completions")  # fmt: skip
    assert raw.headers["x-fareway-pool"] == "only-pool"


def test_chat_stream(client, direct, llama, gateway):
    fields = {"model": llama.model, "messages": QUESTION, "max_tokens": 16, "stream": True, **SAME_AGAIN}
    raw = client.chat.completions.with_raw_response.create(**fields)
    chunks = list(raw.parse())
    expected = list(direct.chat.completions.create(**fields))
    assert [chunk.choices for chunk in chunks] == [chunk.choices for chunk in expected]
    assert all(chunk.choices for chunk in chunks), "the usage chunk that the router asked for reached the client"
    row = gateway.ledger.row(raw.headers["x-request-id"])
    assert (row["usage_source"], row["completion_tokens"], row["outcome"]) == ("engine", 16, "complete")
    assert 0 < row["ttft_seconds"] <= row["duration_seconds"]


def test_chat_stream_with_usage(client, llama, gateway):
    raw = client.chat.completions.with_raw_response.create(
        model=llama.model, messages=QUESTION, max_tokens=8, stream=True, stream_options={"include_usage": True}, **SAME_AGAIN
    )
    *_, last = raw.parse()
    assert last.choices == []
    assert_ledger(gateway, raw.headers["x-request-id"], last.usage.prompt_tokens,
                  last.usage.prompt_tokens_details.cached_tokens, last.usage.completion_tokens,
                  "/v1/chat/completions")  # fmt: skip


def test_completions(client, direct, llama, gateway):
    fields = {"model": llama.model, "prompt": "Once upon a time", "max_tokens": 12, **SAME_AGAIN}
    raw = client.completions.with_raw_response.create(**fields)
    answer = raw.parse()
    assert answer.choices == direct.completions.create(**fields).choices
    assert_ledger(gateway, raw.headers["x-request-id"], answer.usage.prompt_tokens,
                  answer.usage.prompt_tokens_details.cached_tokens, answer.usage.completion_tokens,
                  "/v1/completions")  # fmt: skip
    streamed = "".join(chunk.choices[0].text for chunk in client.completions.create(**fields, stream=True))
    assert streamed == answer.choices[0].text


def test_responses(client, direct, llama, gateway):
    fields = {"model": llama.model, "input": "Name a colour.", "max_output_tokens": 10, "temperature": 0,
              "extra_body": {"cache_prompt": False}}  # fmt: skip
    raw = client.responses.with_raw_response.create(**fields)
    answer = raw.parse()
    assert answer.output_text == direct.responses.create(**fields).output_text
    assert_ledger(gateway, raw.headers["x-request-id"], answer.usage.input_tokens,
                  answer.usage.input_tokens_details.cached_tokens, answer.usage.output_tokens, "/v1/responses")  # fmt: skip


def test_responses_stream(client, llama, gateway):
    raw = client.responses.with_raw_response.create(
        model=llama.model, input="Name a colour.", max_output_tokens=10, temperature=0, stream=True,
        extra_body={"cache_prompt": False},
    )  # fmt: skip
    *_, last = raw.parse()
    assert last.type == "response.completed"
    usage = last.response.usage
    assert_ledger(gateway, raw.headers["x-request-id"], usage.input_tokens, usage.input_tokens_details.cached_tokens,
                  usage.output_tokens, "/v1/responses")  # fmt: skip


def test_embeddings(client, direct, llama, gateway):
    fields = {"model": llama.model, "input": ["a red house", "a blue door"]}
    raw = client.embeddings.with_raw_response.create(**fields)
    answer = raw.parse()
    assert [item.index for item in answer.data] == [0, 1]
    for item, expected in zip(answer.data, direct.embeddings.create(**fields).data, strict=True):
        assert item.embedding == pytest.approx(expected.embedding, abs=1e-3)
    row = assert_ledger(gateway, raw.headers["x-request-id"], answer.usage.prompt_tokens, 0, 0, "/v1/embeddings")
    assert row["completion_tokens"] == 0


def test_tools_pass_both_ways(client, direct, llama):
    turns = [
        {"role": "user", "content": "Weather in Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "Sunny, 25 degrees"},
    ]  # fmt: skip
    fields = {"model": llama.model, "messages": turns, "tools": [WEATHER], "max_tokens": 12, **SAME_AGAIN}
    answer, expected = client.chat.completions.create(**fields), direct.chat.completions.create(**fields)
    assert answer.choices == expected.choices
    assert answer.usage == expected.usage


def test_a_long_prompt(client, llama, gateway):
    raw = client.chat.completions.with_raw_response.create(
        model=llama.model, messages=[{"role": "user", "content": "the quick brown fox " * 180}], max_tokens=4, **SAME_AGAIN
    )
    usage = raw.parse().usage
    assert usage.prompt_tokens > 700
    assert gateway.ledger.row(raw.headers["x-request-id"])["prompt_tokens"] == usage.prompt_tokens


def test_a_prompt_beyond_the_context_is_the_clients_error(client, llama):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(
            model=llama.model, messages=[{"role": "user", "content": "the quick brown fox " * 900}], max_tokens=4
        )
    assert "context" in str(caught.value)


def test_messages(claude, llama, gateway):
    raw = claude.messages.with_raw_response.create(
        model=llama.model, max_tokens=10, messages=QUESTION, system="Be brief."
    )
    answer = raw.parse()
    assert answer.content[0].text
    usage = answer.usage
    # Anthropic's input_tokens leave out what was cached; the ledger's prompt is all of it.
    assert_ledger(gateway, raw.headers["x-request-id"], usage.input_tokens + usage.cache_read_input_tokens,
                  usage.cache_read_input_tokens, usage.output_tokens, "/v1/messages")  # fmt: skip


def test_messages_stream(claude, llama, gateway):
    with claude.messages.stream(model=llama.model, max_tokens=10, messages=QUESTION) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
        request_id = stream.response.headers["x-request-id"]
    assert text == final.content[0].text != ""
    row = gateway.ledger.row(request_id)
    assert row["completion_tokens"] == final.usage.output_tokens
    assert (row["outcome"], row["usage_source"]) == ("complete", "engine")


def test_models(client, llama):
    assert [model.id for model in client.models.list()] == [llama.model]
    assert client.models.retrieve(llama.model).owned_by == "fareway"


class TestErrors:
    """The class of exception that each client raises, which is what programs catch."""

    def test_openai_wrong_key(self, client, llama):
        with pytest.raises(openai.AuthenticationError):
            client.with_options(api_key="sk-wrong").chat.completions.create(model=llama.model, messages=QUESTION)

    def test_openai_wrong_model(self, client):
        with pytest.raises(openai.NotFoundError) as caught:
            client.chat.completions.create(model="no-such-model", messages=QUESTION)
        assert "no-such-model" in str(caught.value)
        assert caught.value.code == "model_not_found"

    def test_openai_bad_body(self, client, llama):
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model=llama.model, messages=QUESTION, max_tokens=-3)
        assert caught.value.param == "max_tokens"

    def test_anthropic_wrong_key(self, claude, llama):
        with pytest.raises(anthropic.AuthenticationError):
            claude.with_options(api_key="sk-wrong").messages.create(model=llama.model, max_tokens=4, messages=QUESTION)

    def test_anthropic_wrong_model(self, claude):
        with pytest.raises(anthropic.NotFoundError):
            claude.messages.create(model="no-such-model", max_tokens=4, messages=QUESTION)

    def test_anthropic_bad_body(self, claude, llama):
        with pytest.raises(anthropic.BadRequestError):
            claude.messages.create(model=llama.model, max_tokens=0, messages=QUESTION)

    def test_no_error_leaves_a_ledger_row(self, gateway, llama):
        before = len(gateway.ledger.requests())
        for body in ({"model": "no-such-model", "messages": QUESTION}, {"messages": QUESTION}):
            assert gateway.post("/v1/chat/completions", body).status_code in (400, 404)
        assert gateway.chat(llama.model, "hello", key="sk-wrong").status_code == 401
        assert len(gateway.ledger.requests()) == before

    def test_not_json(self, gateway):
        answer = httpx.post(gateway.url + "/v1/chat/completions", content=b'{"model": ',
                            headers={"authorization": f"Bearer {KEY}", "content-type": "application/json"})  # fmt: skip
        assert answer.status_code == 400
        assert answer.json()["error"]["type"] == "invalid_request_error"
