"""What is asked of each target, and which figures of the answer count."""

from dataclasses import dataclass

EVENTS = 100
INTERVAL_US = 20_000
STREAM_SECONDS = EVENTS * INTERVAL_US / 1e6
SLOW_EVENTS, SLOW_INTERVAL_US = 1000, 1_000_000  # streams that only stand open


@dataclass(frozen=True)
class Figure:
    key: str  # in the JSON of bench_load
    title: str
    scale: float = 1.0  # from what the key holds to what the title says
    digits: int = 1
    ratio: bool = False  # also shown relative to HAProxy


REQUEST_TIMES = (Figure("request_p50_us", "p50 µs", digits=0), Figure("request_p99_us", "p99 µs", digits=0))
CPU_PER_REQUEST = Figure("cpu_us_per_unit", "CPU µs / request", digits=1, ratio=True)
CPU_PER_EVENT = Figure("cpu_us_per_unit", "CPU µs / event", digits=1, ratio=True)
STREAM_TIMES = (Figure("first_event_p50_us", "TTFT p50 µs", digits=0),
                Figure("first_event_p99_us", "TTFT p99 µs", digits=0),
                Figure("event_delay_p50_us", "event delay p50 µs", digits=0),
                Figure("event_delay_p99_us", "event delay p99 µs", digits=0))


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    figures: tuple
    connections: int
    seconds: float
    warm_up: float
    start_over: float = 0.02
    pace: float = 0.0
    events: int = 0  # 0: plain answers
    interval_us: int = INTERVAL_US
    hold: bool = False  # memory instead of time

    def arguments(self):
        """For bench_load."""
        common = ["--connections", self.connections, "--start-over", self.start_over]
        if self.events:
            common += ["--events", self.events, "--interval-us", self.interval_us]
        if self.hold:
            return [*common, "--hold", "--settle", 1, "--give-up", self.start_over + 30]
        return [*common, "--pace", self.pace, "--warm-up", self.warm_up, "--seconds", self.seconds]


def _streams(name, connections, seconds):
    return Scenario(name, f"{connections:,} streams, {EVENTS} events at {INTERVAL_US // 1000} ms",
                    (Figure("per_second", "events/s", digits=0), *STREAM_TIMES, CPU_PER_EVENT),
                    connections, seconds, warm_up=STREAM_SECONDS + 0.5, start_over=STREAM_SECONDS, events=EVENTS)


def _open_streams(connections):
    return Scenario(f"open{connections}", f"memory with {connections:,} streams open",
                    (Figure("bytes_per_stream", "KiB / stream", scale=1 / 1024, digits=1, ratio=True),
                     Figure("bytes_after", "MiB in all", scale=1 / 2**20, digits=1),
                     Figure("open_streams", "streams", digits=0)),
                    connections, 0, 0, start_over=connections / 1000, events=SLOW_EVENTS,
                    interval_us=SLOW_INTERVAL_US, hold=True)


def scenarios(quick, most_streams):
    """All of them, in the order they are run."""
    seconds = 1.0 if quick else 2.5
    timed = [
        Scenario("latency", "requests of 2 KB, 1 connection, 200 a second", (*REQUEST_TIMES, CPU_PER_REQUEST),
                 connections=1, seconds=seconds, warm_up=0.3, pace=0.005),
        Scenario("req64", "requests of 2 KB, 64 connections, one after the other",
                 (Figure("per_second", "requests/s", digits=0), *REQUEST_TIMES, CPU_PER_REQUEST),
                 connections=64, seconds=seconds, warm_up=0.5),
        _streams("sse64", 64, seconds),
        _streams("sse1000", 1000, seconds),
    ]
    held = [_open_streams(1000)] if quick else [_open_streams(1000), _open_streams(most_streams)]
    return [*timed, *held]

