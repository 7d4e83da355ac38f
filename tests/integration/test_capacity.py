"""`fareway capacity` as operators type it: exit codes, JSON, text and what a wrong question is told."""

import json
import os
import subprocess
from pathlib import Path

import pytest

QWEN = ["--model", "Qwen3.8-27B", "--device", "MI300X", "--reserve-gib", "8"]


def capacity(*arguments):
    return subprocess.run([os.environ["FAREWAY_BINARY"], "capacity", *arguments], capture_output=True, text=True, timeout=30)


def answer(*arguments):
    done = capacity(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_qwen_on_one_mi300x_holds_the_published_sessions():
    full = answer(*QWEN, "--context", "262144")
    assert full["fits"] is True
    assert full["sessions"] == 8
    assert full["bytes_per_session"] == 16528 * 2**20
    assert full["kv_pool_bytes"] / 2**30 == pytest.approx(133.7, abs=0.05)
    assert full["longest_context_tokens"] == 262144
    labels = [line["label"] for line in full["lines"]]
    assert labels[0] == "memory of one device" and labels[-1] == "longest context"
    assert all(set(line) == {"label", "value", "unit", "formula"} for line in full["lines"])
    assert answer(*QWEN, "--context", "8192")["sessions"] == 208


def test_help_is_printed_and_nothing_else_is_done():
    done = capacity("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--context" in done.stdout


def test_kimi_k3_does_not_fit_eight_b200_and_is_told_what_would():
    small = answer("--model", "Kimi-K3", "--device", "B200", "--devices", "8", "--context", "8192")
    assert small["fits"] is False
    assert small["sessions"] == 0
    assert small["missing_bytes"] == small["bytes_per_session"] - small["kv_pool_bytes"]
    assert {"16 x B200 (tp 16)", "8 x B300", "8 x MI355X"} <= set(small["would_fit"])
    assert answer("--model", "kimi-k3", "--device", "b200", "--devices", "16", "--context", "8192")["fits"] is True


def test_the_format_and_its_price_are_named():
    flash = answer("--model", "DeepSeek-V4-Flash", "--device", "MI300X", "--context", "8192")
    assert flash["fits"] is True
    assert flash["format"]["support"] == "emulated"
    assert "MI300X has no MXFP4 units" in flash["format"]["reason"]
    assert flash["format"]["slowdown"] > 1
    wrong = answer("--model", "Llama-3.1-8B", "--device", "MI355X", "--format", "nvfp4", "--context", "8192")
    assert wrong["fits"] is False and wrong["missing_bytes"] is None
    assert any("bf16 checkpoint" in remedy for remedy in wrong["would_fit"])


def test_text_is_the_arithmetic_line_by_line():
    text = capacity(*QWEN, "--context", "262144").stdout
    assert "16,528 MiB" in text
    assert "8 sessions" in text
    assert "191.98 GiB" in text


def test_models_and_devices_of_a_configuration_are_known_too(tmp_path):
    demo = (Path(__file__).parents[2] / "deploy" / "demo.yaml").read_text()
    extra = """  - name: ours
    catalogue: Llama-3.1-8B
    context_limit: 4096
"""
    file = tmp_path / "fareway.yaml"
    file.write_text(
        demo.replace("models:\n", "models:\n" + extra, 1) + "\ndevices:\n  - {name: half, catalogue: MI300X, hbm: 96GiB}\n"
    )
    ours = ["--config", str(file), "--model", "Ours", "--device", "half"]
    small = answer(*ours, "--context", "4096")
    assert small["longest_context_tokens"] == 4096
    assert small["lines"][0]["value"] == 96 * 2**30
    assert answer("--config", str(file), "--model", "Kimi-K2.5", "--device", "b300", "--devices", "8", "--context", "1024")["fits"]
    assert "--context: 4097 tokens are more than the 4096" in capacity(*ours, "--context", "4097").stderr


def test_the_documentation_shows_what_is_printed():
    shown = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    printed = capacity(*QWEN, "--context", "262144").stdout
    for line in printed.splitlines():
        assert f"    {line}".rstrip() + "\n" in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--model", "Qwen3.8-27", "--device", "MI300X", "--context", "1"], 'did you mean "Qwen3.8-27B"?'),
        (["--model", "Qwen3.8-27B", "--device", "MI300", "--context", "1"], 'did you mean "MI300X"?'),
        ([*QWEN, "--context", "262145"], "more than the 262144 that Qwen3.8-27B allows"),
        ([*QWEN, "--context", "0"], "--context: must be more than zero"),
        ([*QWEN, "--context", "-5"], "--context"),
        ([*QWEN, "--context", "8192", "--tp", "5"], "--tp: 5 does not divide the 24 heads"),
        ([*QWEN, "--context", "8192", "--tp", "0"], "--tp: 0 is not a number from 1"),
        ([*QWEN, "--context", "8192", "--devices", "8", "--tp", "2"], "8 devices are not tp 2"),
        ([*QWEN, "--context", "8192", "--utilisation", "nan"], "--utilisation"),
        ([*QWEN, "--context", "8192", "--utilisation", "1.5"], "--utilisation: must be more than 0 and at most 1"),
        (["--model", "Qwen3.8-27B", "--device", "MI300X", "--context", "1", "--reserve-gib", "inf"], "--reserve-gib"),
        (["--model", "Qwen3.8-27B", "--device", "MI300X", "--context", "1", "--reserve-gib", "-1"], "--reserve-gib"),
        (["--model", "Qwen3.8-27B", "--device", "MI300X", "--context", "1", "--reserve-gib", "192"], "leave nothing"),
        ([*QWEN, "--context", "8192", "--format", "int3"], "no int3 checkpoint of Qwen3.8-27B is known; known: bf16, fp8"),
        ([*QWEN, "--context", "8192", "--kv-dtype", "int8"], "neither bf16 nor fp8"),
        ([*QWEN, "--context", "8192", "--engine", "vllm", "--engine-version", "new"], "is no version"),
        ([*QWEN], "--context is required"),
    ],
)
def test_a_wrong_question_is_told_what_is_wrong(arguments, told):
    done = capacity(*arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stdout == ""
