#!/usr/bin/env python3
"""The arithmetic of the tables, and what counts as a problem."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness import report, scenarios  # noqa: E402
from harness.measure import Bench  # noqa: E402


def run(number, target, cpu):
    return {"round": number, "scenario": "req64", "target": target, "cpu_us_per_unit": cpu}


def scenario_named(name):
    return next(each for each in scenarios.scenarios(quick=True, most_streams=1000) if each.name == name)


REQ64, SSE64 = scenario_named("req64"), scenario_named("sse64")


class Ratios(unittest.TestCase):
    def test_are_taken_within_a_round_and_only_then_put_together(self):
        # The machine was twice as slow in the second round; the ratio was 0.5 in every one.
        runs = [run(0, "Fareway", 10), run(0, "HAProxy", 20), run(1, "Fareway", 20), run(1, "HAProxy", 40),
                run(2, "Fareway", 5)]
        self.assertEqual(report.ratio(runs, "req64", "Fareway", "cpu_us_per_unit"), 0.5)

    def test_are_absent_where_nothing_was_measured(self):
        self.assertIsNone(report.ratio([run(0, "Fareway", 10)], "req64", "Fareway", "cpu_us_per_unit"))


class Problems(unittest.TestCase):
    GOOD = {"errors": 0, "first_error": "", "sent": 7, "engine_requests": 7, "drained": True}

    def noted(self, scenario=REQ64, **changes):
        bench = Bench(None, None, (0, 1), None, 0)
        target = type("Target", (), {"name": "nginx"})
        bench._note_errors(scenario, target, {**self.GOOD, **changes})
        return bench.problems

    def test_there_is_none_in_a_good_run(self):
        self.assertEqual(self.noted(), [])

    def test_wrong_answers_lost_requests_and_streams_left_running_are_told(self):
        self.assertIn("3 wrong answers, the first: cut", self.noted(errors=3, first_error="cut")[0])
        self.assertIn("7 requests were sent, engines saw 8", self.noted(engine_requests=8)[0])
        self.assertIn("7 requests were sent, engines saw 6", self.noted(engine_requests=6)[0])
        self.assertIn("streams went on", self.noted(drained=False)[0])

    def test_requests_that_clients_of_streams_had_just_sent_may_be_missing_but_none_may_be_repeated(self):
        self.assertEqual(self.noted(SSE64, engine_requests=6), [])
        self.assertEqual(len(self.noted(SSE64, engine_requests=8)), 1)


class Readme(unittest.TestCase):
    def test_numbers_are_replaced_between_the_marks_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "README.md"
            path.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", encoding="utf-8")
            report.update_readme(path, r"new \1 numbers")
            self.assertEqual(path.read_text(encoding="utf-8"),
                             f"before\n{report.BEGIN}\n\nnew \\1 numbers\n{report.END}\nafter\n")


if __name__ == "__main__":
    unittest.main()
