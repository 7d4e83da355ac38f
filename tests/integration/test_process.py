"""The gateway as a process: signals, taken ports, a locked ledger, a full disk, a crash."""

import signal
import subprocess
from types import SimpleNamespace

import httpx
import pytest

from harness import configs, fareway
from harness.processes import free_ports, until

MODEL = "small"
CLEARLY = 10  # seconds within which a start that cannot succeed has failed


@pytest.fixture(scope="module")
def emulated(folder):
    """An emulated engine that every gateway of this file may use."""
    engine = SimpleNamespace(model=MODEL, port=free_ports(1)[0])
    with fareway.Emulators(config_for(engine), folder):
        yield engine


def config_for(engine):
    # 32 tokens of 50 ms: a stream that is still under way when a signal arrives.
    config = configs.in_front_of(engine, "vllm", context=8192, seats=8)
    config["deployments"][0]["speed"] = {"step_floor": "50ms"}
    return config


@pytest.fixture
def gateway(emulated, tmp_path):
    with fareway.Gateway(config_for(emulated), tmp_path) as running:
        yield running


def open_stream(gateway, tokens):
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Go on"}], "max_tokens": tokens, "stream": True}
    headers = {"authorization": f"Bearer {configs.KEY}"}
    return httpx.stream("POST", gateway.url + "/v1/chat/completions", json=body, headers=headers, timeout=30)


def test_sigterm_lets_a_stream_finish(gateway):
    with open_stream(gateway, tokens=60) as answer:
        lines = answer.iter_lines()
        next(lines)
        gateway.process.send(signal.SIGTERM)
        until(lambda: gateway.admin.get("/readyz").status_code == 503, 5, "a draining gateway says that it is not ready")
        assert gateway.process.alive()
        text = "\n".join(lines)
    assert text.rstrip().endswith("data: [DONE]")
    assert gateway.process.wait(10) == 0
    (row,) = gateway.ledger.requests()
    assert (row["outcome"], row["completion_tokens"]) == ("complete", 60)


def test_a_draining_gateway_takes_no_new_request(gateway):
    with open_stream(gateway, tokens=60) as answer:
        lines = answer.iter_lines()  # kept: httpx hangs up when it is collected
        next(lines)
        gateway.process.send(signal.SIGTERM)
        until(lambda: gateway.admin.get("/readyz").status_code == 503, 5, "it drains")
        with pytest.raises(httpx.ConnectError):
            gateway.chat(MODEL, "Hello", max_tokens=1)


def test_a_second_sigterm_cuts_and_still_writes_the_row(gateway):
    with open_stream(gateway, tokens=2000) as answer:
        lines = answer.iter_lines()  # kept: httpx hangs up when it is collected
        next(lines)
        gateway.process.send(signal.SIGTERM)
        until(lambda: gateway.admin.get("/readyz").status_code == 503, 5, "it drains")
        gateway.process.send(signal.SIGTERM)
        assert gateway.process.wait(5) == 3  # not all that was open could finish
    (row,) = gateway.ledger.requests()
    assert row["outcome"] == "incomplete"


def test_sigkill_loses_no_row_of_an_answered_request(gateway, emulated, tmp_path):
    ids = [gateway.chat(MODEL, f"Hello {number}", max_tokens=2).headers["x-request-id"] for number in range(5)]
    gateway.process.kill()
    assert [row["request_id"] for row in gateway.ledger.requests()] == ids
    # The lock went with the process: the same ledger opens again, and goes on.
    with fareway.Gateway(gateway.config, tmp_path, name="gateway-again") as again:
        assert again.chat(MODEL, "Hello again", max_tokens=2).status_code == 200
        assert len(again.ledger.requests()) == 6


def refused(config, folder):
    """Starts a gateway that cannot start; its exit status and what it said."""
    folder.mkdir()
    loser = fareway.Gateway(config, folder, name="second")
    process = loser.launch()
    status = process.wait(CLEARLY)
    return status, process.log_text()


def test_a_second_gateway_on_the_same_port_fails_clearly(gateway, emulated, tmp_path):
    for taken in ("listen", "admin"):
        config = {**config_for(emulated), taken: gateway.config[taken]}
        status, said = refused(config, tmp_path / taken)
        assert status == 1
        assert gateway.config[taken] in said and "in use" in said
    assert gateway.chat(MODEL, "Hello", max_tokens=1).status_code == 200


def test_a_second_gateway_on_the_same_ledger_fails_clearly(gateway, emulated, tmp_path):
    config = {**config_for(emulated), "ledger": {"file": str(gateway.ledger.path)}}
    status, said = refused(config, tmp_path / "second")
    assert status == 1
    assert str(gateway.ledger.path) in said and str(gateway.process.pid) in said


def test_a_wrong_configuration_fails_clearly_and_names_every_problem(emulated, tmp_path):
    config = config_for(emulated)
    config["pools"][0]["device"] = "MI999X"
    config["limits"] = {"max_atempts": 2}
    path = configs.write(config, tmp_path)
    for name in ("serve", "check", "emulate"):
        done = fareway.command(name, "--config", path)
        assert done.returncode == 2
        assert "MI999X" in done.stderr and "max_atempts" in done.stderr


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one mebibyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a file system")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_defers_rows_and_loses_none(emulated, tmp_path, small_disk):
    config = {**config_for(emulated), "ledger": {"file": str(small_disk / "ledger.db")}}
    with fareway.Gateway(config, tmp_path) as gateway:
        assert gateway.chat(MODEL, "before", max_tokens=1).status_code == 200
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                pass  # full
        # Each row takes some bytes of the log file's slack at first; go on until the store gives in.
        answered = 1
        while backlog(gateway) == 0:
            assert answered < 400, "the disk never became full"
            assert gateway.chat(MODEL, f"during {answered}", max_tokens=1).status_code == 200
            answered += 1
        assert gateway.process.alive()
        ballast.unlink()
        until(lambda: backlog(gateway) == 0, 10, "the rows that waited are written")
        assert len(gateway.ledger.requests()) == answered
    assert gateway.process.status() == 0


def backlog(gateway):
    for line in gateway.admin.get("/metrics").text.splitlines():
        if line.startswith("fareway_ledger_backlog"):
            return float(line.rsplit(" ", 1)[1])
    raise AssertionError("no metric for the ledger's backlog")


def test_version_and_help():
    assert fareway.command("--version").stdout.startswith("fareway ")
    assert "serve" in fareway.command("--help").stdout
    assert fareway.command("no-such-command").returncode == 2


def test_report_of_a_ledger_that_is_not_there(tmp_path):
    done = fareway.command("ledger", "report", "--ledger", tmp_path / "none.db")
    assert done.returncode == 1
    assert "none.db" in done.stderr
