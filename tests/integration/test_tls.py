"""TLS between clients and the gateway: the clients people have, and certificates that change while it runs."""

import signal
import ssl
import subprocess
from types import SimpleNamespace

import anthropic
import httpx
import openai
import pytest

from harness import configs, fareway
from harness.processes import HOST, free_ports, until

MODEL = "small"


def openssl(*arguments, folder):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


def issue(folder, stem, *, host=HOST):
    """A key and a certificate for the address `host`, signed by the authority of `folder`."""
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={stem}",
            "-keyout", f"{stem}.key", "-out", f"{stem}.csr", folder=folder)
    (folder / f"{stem}.ext").write_text(f"subjectAltName=IP:{host},DNS:localhost\n")
    openssl("x509", "-req", "-in", f"{stem}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", f"{stem}.ext", "-out", f"{stem}.pem", folder=folder)


@pytest.fixture(scope="module")
def tls(folder):
    """A gateway that speaks TLS, in front of an emulated engine."""
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=test authority", "-keyout", "ca.key", "-out", "ca.pem", folder=folder)
    issue(folder, "api")
    engine = SimpleNamespace(model=MODEL, port=free_ports(1)[0])
    config = configs.in_front_of(engine, "vllm", context=8192, seats=8)
    config["tls"] = {"certificates": [{"certificate": str(folder / "api.pem"), "key": str(folder / "api.key")}]}
    with fareway.Emulators(config, folder), fareway.Gateway(config, folder) as gateway:
        gateway.url = gateway.url.replace("http://", "https://")
        yield SimpleNamespace(gateway=gateway, folder=folder, context=ssl.create_default_context(cafile=folder / "ca.pem"))


@pytest.fixture
def trusted(tls, monkeypatch):
    """Clients made now trust the authority, told as their users tell it."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tls.folder / "ca.pem"))


def shown(tls):
    """Common name of the certificate that a new connection is shown."""
    host, port = tls.gateway.config["listen"].split(":")
    done = subprocess.run(["openssl", "s_client", "-connect", f"{host}:{port}"], input="", capture_output=True, text=True,
                          timeout=60, check=False)
    return next(line.rpartition("CN = ")[2] for line in done.stdout.splitlines() if line.startswith("subject="))


def test_the_openai_client_streams_over_it(tls, trusted):
    client = openai.OpenAI(base_url=tls.gateway.url + "/v1", api_key=configs.KEY)
    stream = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hello"}], max_tokens=5,
                                            stream=True)
    assert sum(bool(event.choices and event.choices[0].delta.content) for event in stream) == 5


def test_the_anthropic_client_asks_over_it(tls, trusted):
    client = anthropic.Anthropic(base_url=tls.gateway.url, auth_token=configs.KEY)
    answer = client.messages.create(model=MODEL, messages=[{"role": "user", "content": "Hello"}], max_tokens=5)
    assert answer.usage.output_tokens == 5


def test_curl_agrees_on_http_1_1(tls):
    done = subprocess.run(["curl", "-sS", "--cacert", tls.folder / "ca.pem", "-o", "/dev/null", "-w", "%{http_version} %{http_code}",
                           "-H", f"authorization: Bearer {configs.KEY}", tls.gateway.url + "/v1/models"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "1.1 200", done.stderr


def test_a_client_that_does_not_know_the_authority_is_not_fooled(tls):
    with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
        httpx.get(tls.gateway.url + "/v1/models")


def test_a_renewed_certificate_is_shown_after_sighup_and_a_stream_goes_on(tls):
    assert shown(tls) == "api"
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Go on"}], "max_tokens": 60, "stream": True}
    headers = {"authorization": f"Bearer {configs.KEY}"}
    with httpx.stream("POST", tls.gateway.url + "/v1/chat/completions", json=body, headers=headers, verify=tls.context,
                      timeout=60) as answer:
        lines = answer.iter_lines()
        next(lines)
        issue(tls.folder, "renewed")
        for kind in ("pem", "key"):
            (tls.folder / f"renewed.{kind}").replace(tls.folder / f"api.{kind}")
        tls.gateway.process.send(signal.SIGHUP)
        until(lambda: shown(tls) == "renewed", 10, "new connections are shown the renewed certificate")
        assert "\n".join(lines).rstrip().endswith("data: [DONE]")


def test_a_broken_certificate_is_reported_and_the_old_one_kept(tls):
    before = shown(tls)
    (tls.folder / "api.pem").write_text("not a certificate")
    tls.gateway.process.send(signal.SIGHUP)
    log = tls.gateway.process.log
    until(lambda: "certificates are kept as they were" in log.read_text(), 10, "the log says what is wrong")
    assert "api.pem: no certificate in PEM form can be read" in log.read_text()
    assert shown(tls) == before
    done = fareway.command("check", "--config", tls.gateway.path)
    assert done.returncode == 2
    assert "tls.certificates[0]: " in done.stderr
