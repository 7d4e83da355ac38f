"""Fixtures: engines and gateways of one test file share a folder, whose logs are shown when a test fails."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from harness import configs, engines, fareway  # noqa: E402
from harness.processes import free_ports  # noqa: E402

ALL_SKIPPED = 77  # what CTest takes as "skipped"


@pytest.fixture(scope="session", autouse=True)
def binary():
    if not fareway.BINARY.exists():
        pytest.fail(f"{fareway.BINARY} is not built", pytrace=False)
    return fareway.BINARY


@pytest.fixture(scope="module")
def folder(tmp_path_factory, request):
    return tmp_path_factory.mktemp(request.module.__name__)


@pytest.fixture(scope="module")
def llama(folder):
    """llama.cpp's server with a real model."""
    if not (engines.LLAMA_SERVER.exists() and engines.LLAMA_MODEL.exists()):
        pytest.skip("llama.cpp or its model is not there; tests/integration/setup brings them")
    server = engines.LlamaServer(folder, free_ports(1)[0])
    yield server.start()
    server.stop()


@pytest.fixture(scope="module")
def gateway(llama, folder):
    """The gateway in front of `llama`."""
    config = configs.in_front_of(llama, "llamacpp", context=llama.context, seats=llama.slots)
    with fareway.Gateway(config, folder) as running:
        yield running


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    outcomes = {name: len(reporter.stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
    if outcomes["skipped"] and not any(outcomes[name] for name in ("passed", "failed", "error")):
        session.exitstatus = ALL_SKIPPED
