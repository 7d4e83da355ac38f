"""What is measured: the engines directly, nginx, HAProxy and Fareway, each with one worker on one core."""

import hashlib
import http.client
import json
import shutil
import subprocess
from pathlib import Path

from .machine import BenchError, Process, first_line, free_ports, wait_for

KEY = "sk-bench"
READY_SECONDS = 15
MOST_CLIENTS = 9900  # for all alike; two descriptors a stream


class Target:
    """A thing that stands at `port` from start() to stop(). Direct: the first engine itself."""

    name = "direct"
    about = "the load client talks to the mock engine"
    is_started = False  # there is a process of its own to start, watch and stop

    def __init__(self, folder, engine_ports, core):
        self.folder = Path(folder) / self.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.engine_ports = engine_ports
        self.core = core
        self.port = engine_ports[0]
        self.process = None

    @staticmethod
    def missing():
        """Why it cannot be measured here; empty if it can."""
        return ""

    def version(self):
        return ""

    def command(self):
        """The command line; writes the configuration it names."""
        raise NotImplementedError

    def start(self):
        if not self.is_started:
            return
        self.port, self.admin_port = free_ports(2)
        self.process = Process(self.command(), self.core, self.folder / "log", cwd=self.folder)
        try:
            wait_for(self._answers, READY_SECONDS, f"{self.name} is ready")
        except BenchError as error:
            log = self.process.end_of_log()
            self.stop()
            raise BenchError(f"{error}\n{log}") from None

    def stop(self):
        if self.process is not None:
            self.process.stop()
            self.process = None

    def pids(self):
        return self.process.pids() if self.process else []

    def _answers(self):
        """Eight chat requests in a row, so that every engine has been reached."""
        if not self.process.running():
            raise BenchError(f"{self.name} ended at once")
        try:
            return all(chat_status(self.port) == 200 for _ in range(8))
        except OSError:
            return False


def chat_status(port):
    body = json.dumps({"model": "bench", "max_tokens": 1,
                       "messages": [{"role": "user", "content": f"[bench {0:020d} 0] ready?"}]})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("POST", "/v1/chat/completions", body,
                           {"content-type": "application/json", "authorization": f"Bearer {KEY}"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except http.client.HTTPException:
        return 0
    finally:
        connection.close()


class Nginx(Target):
    name = "nginx"
    about = "1 worker, round robin, upstream keep-alive, buffering off, no access log"
    is_started = True

    @staticmethod
    def missing():
        return "" if shutil.which("nginx") else "nginx is not installed (apt-get install nginx-light)"

    def version(self):
        return first_line(["nginx", "-v"]).rpartition("/")[2]

    def command(self):
        engines = "".join(f"    server 127.0.0.1:{port};\n" for port in self.engine_ports)
        # With less than a sixteenth of its connections free nginx closes clients that have not sent a request yet.
        (self.folder / "nginx.conf").write_text(f"""
worker_processes 1;
worker_rlimit_nofile {2 * MOST_CLIENTS + 200};
pid {self.folder}/nginx.pid;
error_log {self.folder}/error.log warn;
events {{ worker_connections {3 * MOST_CLIENTS}; multi_accept on; }}
http {{
  access_log off;
  client_body_temp_path {self.folder}/body;
  proxy_temp_path {self.folder}/proxy;
  fastcgi_temp_path {self.folder}/fastcgi;
  uwsgi_temp_path {self.folder}/uwsgi;
  scgi_temp_path {self.folder}/scgi;
  client_body_buffer_size 64k;
  keepalive_requests 100000000;
  keepalive_timeout 600s;
  upstream engines {{
{engines}
    keepalive {MOST_CLIENTS};
    keepalive_requests 100000000;
    keepalive_timeout 600s;
  }}
  server {{
    listen 127.0.0.1:{self.port} backlog=4096;
    location / {{
      proxy_pass http://engines;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }}
  }}
}}
""")
        return ["nginx", "-p", self.folder, "-c", self.folder / "nginx.conf", "-g", "daemon off;"]


class Haproxy(Target):
    name = "HAProxy"
    about = "1 thread, round robin, http-reuse always, option http-no-delay, no log"
    is_started = True

    @staticmethod
    def missing():
        return "" if shutil.which("haproxy") else "haproxy is not installed (apt-get install haproxy)"

    def version(self):
        return first_line(["haproxy", "-v"]).split()[2]

    def command(self):
        engines = "".join(f"  server engine{i} 127.0.0.1:{port}\n" for i, port in enumerate(self.engine_ports))
        # Without http-no-delay HAProxy holds events back for up to 200 ms.
        (self.folder / "haproxy.cfg").write_text(f"""
global
  nbthread 1
  maxconn {MOST_CLIENTS}
defaults
  mode http
  option http-no-delay
  http-reuse always
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  timeout http-keep-alive 600s
frontend clients
  bind 127.0.0.1:{self.port} backlog 4096
  default_backend engines
backend engines
  balance roundrobin
{engines}
""")
        return ["haproxy", "-db", "-f", self.folder / "haproxy.cfg"]


class Fareway(Target):
    name = "Fareway"
    about = "1 data thread; keys, placement, metrics, decision log and ledger on, as always"
    is_started = True
    binary = None  # a path; set by bench/run

    @classmethod
    def missing(cls):
        return "" if cls.binary.exists() else f"{cls.binary} is not built"

    def version(self):
        return first_line([self.binary, "--version"]).split()[-1]

    def command(self):
        (self.folder / "fareway.json").write_text(json.dumps(self.configuration(), indent=1))
        for ledger in self.folder.glob("ledger.db*"):
            ledger.unlink()
        checked = subprocess.run([self.binary, "check", "--config", self.folder / "fareway.json"],
                                 capture_output=True, text=True, check=False)
        if checked.returncode != 0:
            raise BenchError("Fareway refuses the benchmark's configuration:\n" + checked.stdout + checked.stderr)
        return [self.binary, "serve", "--config", self.folder / "fareway.json"]

    def configuration(self):
        replicas = [{"name": f"engine{i}", "engine": "vllm", "endpoint": f"http://127.0.0.1:{port}", "deployment": "bench"}
                    for i, port in enumerate(self.engine_ports)]
        return {
            "listen": f"127.0.0.1:{self.port}",
            "admin": f"127.0.0.1:{self.admin_port}",
            "ledger": {"file": str(self.folder / "ledger.db")},
            "limits": {"max_connections": MOST_CLIENTS},
            # By the profile of the device no engine here could serve thousands of streams in time: they are to be measured all
            # the same, at once.
            "queue": {"max_requests": 0},
            "models": [{"name": "bench", "total_parameters": 8030000000, "active_parameters": 8030000000, "layers": 32,
                        "hidden_size": 4096, "kv_heads": 8, "kv_per_token": "128KiB",
                        "attention_flops_per_pair": 524288, "context_limit": 131072,
                        "list_price": {"input": 0.10, "cached": 0.02, "output": 0.40}}],
            "deployments": [{"name": "bench", "model": "bench", "device": "MI300X", "format": "bf16",
                             "weights": "15GiB", "seats": 20000}],
            "pools": [{"name": "bench", "device": "MI300X", "capacity": "on_demand", "usd_per_device_hour": 2.00,
                       "replicas": replicas}],
            "tenants": [{"name": "bench", "keys": [{"id": "bench", "default_class": "standard",
                                                    "sha256": hashlib.sha256(KEY.encode()).hexdigest()}]}],
        }


TARGETS = (Target, Nginx, Haproxy, Fareway)
