"""Command line of the trace replay; run it as tests/integration/replay."""

import argparse
import sys
import tempfile
from collections import Counter

from harness.replay import TRACE, read_trace, replay


def main():
    parser = argparse.ArgumentParser(description="Replay a trace through the gateway onto the emulated demo fleet.")
    parser.add_argument("--trace", default=TRACE, help="CSV with TIMESTAMP, ContextTokens, GeneratedTokens")
    parser.add_argument("--count", type=int, default=2000, help="requests from its beginning (default 2000)")
    parser.add_argument("--speed", type=float, default=1.0, help="times real time (default 1)")
    arguments = parser.parse_args()

    arrivals = read_trace(arguments.trace, arguments.count)
    seconds = arrivals[-1].seconds / arguments.speed
    print(f"{len(arrivals)} requests over {seconds:.0f} s ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="fareway-replay-") as folder:
        result = replay(folder, arrivals, arguments.speed)
        statuses = Counter(status for status, _ in result.answers)
        whole = sum(done is True for _, done in result.answers)
        prompt, completion = result.tokens()
        print(result.table())
        print(f"\n{whole} of {len(arrivals)} answered whole (statuses {dict(statuses)}); {prompt:,} tokens in, "
              f"{completion:,} out; tenants pay ${result.price():.4f}.")  # fmt: skip
    return 0 if whole == len(arrivals) else 1


if __name__ == "__main__":
    sys.exit(main())
