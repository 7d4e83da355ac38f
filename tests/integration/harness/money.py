"""The conservation law, checked from outside: charges + idle = price x hours."""

from decimal import Decimal

# The gateway reads the calendar for its idle rows and the monotonic clock for its meters, not at the same instant.
CLOCKS_DIFFER_SECONDS = 0.25
SECONDS_PER_HOUR = 3600
NANO = 10**9


def devices_of(config, replica):
    deployment = next(each for each in config["deployments"] if each["name"] == replica["deployment"])
    parallelism = deployment.get("parallelism", {})
    return parallelism.get("tp", 1) * parallelism.get("dp", 1)


def assert_conserved(ledger, config):
    """For every replica: what its requests were charged and what it idled is its price over the gateway's life."""
    (life,) = ledger.query("SELECT min(from_ns) AS born, max(to_ns) AS died FROM idle_costs")
    seconds = (life["died"] - life["born"]) / NANO
    charged, idle = ledger.dollars()
    for pool in config["pools"]:
        for replica in pool["replicas"]:
            rate = float(Decimal(str(pool["usd_per_device_hour"]))) * devices_of(config, replica) * NANO / SECONDS_PER_HOUR
            spent = charged.get(replica["name"], 0) + idle.get(replica["name"], 0)
            off_by_seconds = spent / rate - seconds
            assert abs(off_by_seconds) < CLOCKS_DIFFER_SECONDS, (
                f"{replica['name']}: {spent} nanodollars are {off_by_seconds:+.3f} s away from {seconds:.3f} s"
            )
