"""Configurations of the gateway: a small one in front of a given engine, and the demo fleet on free ports."""

import copy
import hashlib
from pathlib import Path

import yaml

from harness.processes import HOST, free_ports

SOURCE = Path(__file__).resolve().parents[3]
DEMO = SOURCE / "deploy" / "demo.yaml"
KEY = "sk-test-integration"
TENANT, KEY_ID = "test", "test-key"


def in_front_of(engine, adapter, context, seats, kv_per_token="16KiB"):
    """One model, one pool, one replica: the engine at its own address. Reserved, at 3.60 $/h: 1 milli-dollar a second."""
    listen, admin = free_ports(2)
    return {
        "listen": f"{HOST}:{listen}",
        "admin": f"{HOST}:{admin}",
        "ledger": {"file": "ledger.db"},
        "models": [{
            "name": engine.model, "total_parameters": 270_000_000, "active_parameters": 270_000_000,
            "layers": 18, "hidden_size": 640, "kv_heads": 1, "kv_per_token": kv_per_token,
            "attention_flops_per_pair": 73_728, "context_limit": context,
            "list_price": {"input": "0.10", "cached": "0.05", "output": "0.40"},
        }],
        "deployments": [{
            "name": "only", "model": engine.model, "device": "MI300X", "format": "bf16", "weights": "1GiB", "seats": seats,
        }],
        "pools": [{
            "name": "only-pool", "device": "MI300X", "capacity": "reserved", "usd_per_device_hour": "3.60",
            "replicas": [{
                "name": "only-replica", "engine": adapter, "endpoint": f"http://{HOST}:{engine.port}", "deployment": "only",
            }],
        }],
        "tenants": [{"name": TENANT, "keys": [key(KEY_ID, KEY, "standard")]}],
    }  # fmt: skip


def key(key_id, secret, default_class):
    return {"id": key_id, "sha256": hashlib.sha256(secret.encode()).hexdigest(), "default_class": default_class}


def demo_fleet():
    """deploy/demo.yaml with every address on a port of its own."""
    config = copy.deepcopy(yaml.safe_load(DEMO.read_text()))
    replicas = [replica for pool in config["pools"] for replica in pool["replicas"]]
    ports = free_ports(2 + len(replicas))
    config["listen"], config["admin"] = f"{HOST}:{ports[0]}", f"{HOST}:{ports[1]}"
    config["ledger"] = {"file": "ledger.db"}
    for replica, port in zip(replicas, ports[2:], strict=True):
        replica["endpoint"] = f"http://{HOST}:{port}"
    return config


def write(config, folder):
    """fareway.yaml in `folder`, replaced at once: a process that starts meanwhile reads the old file or the new one, never half of one."""
    path = Path(folder) / "fareway.yaml"
    written = path.with_suffix(".new")
    written.write_text(yaml.safe_dump(config, sort_keys=False))
    return written.replace(path)


def pool_names(config):
    return [pool["name"] for pool in config["pools"]]
