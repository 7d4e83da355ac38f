"""Medians, ratios within the round, Markdown."""

import re
import statistics

from .measure import NOISE_LIMIT
from .targets import Haproxy

BASE = Haproxy.name
BEGIN, END = "<!-- numbers: written by bench/run --update-readme -->", "<!-- end of numbers -->"


def _values(runs, scenario, target, key):
    """By round."""
    return {run["round"]: run[key] for run in runs
            if run["scenario"] == scenario and run["target"] == target and run.get(key) is not None}


def ratio(runs, scenario, target, key):
    """Median of the ratios to HAProxy within each round; None where there are none."""
    ours, base = _values(runs, scenario, target, key), _values(runs, scenario, BASE, key)
    ratios = [ours[number] / base[number] for number in ours if base.get(number)]
    return statistics.median(ratios) if ratios else None


def _cell(runs, scenario, target, figure):
    values = [value * figure.scale for value in _values(runs, scenario.name, target, figure.key).values()]
    if not values:
        return "–"
    text = f"{statistics.median(values):,.{figure.digits}f}"
    if figure.ratio and target != BASE:
        relative = ratio(runs, scenario.name, target, figure.key)
        text += f" ({relative:.2f}×)" if relative is not None else ""
    return text


def _table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _scenario_table(result, scenario):
    runs = result["runs"]
    names = [name for name in result["targets"] if any(_values(runs, scenario.name, name, figure.key)
                                                       for figure in scenario.figures)]
    disturbed = max((run.get("foreign_cores", 0) for run in runs if run["scenario"] == scenario.name), default=0)
    note = f" Others used up to {disturbed:.1f} cores meanwhile." if disturbed > NOISE_LIMIT else ""
    head = ["", *(figure.title for figure in scenario.figures)]
    rows = [[name, *(_cell(runs, scenario, name, figure) for figure in scenario.figures)] for name in names]
    return [f"{scenario.title[0].upper()}{scenario.title[1:]}.{note}", "", *_table(head, rows), ""]


def _decision_table(decisions):
    rows = [[f"{row['candidates']:,}", f"{row['decide_ns'] / 1000:,.1f}", f"{row['decide_ns'] / row['candidates'] / 1000:,.2f}",
             f"{row['shortest_queue_ns'] / 1000:,.2f}", f"{row['ratio']:,.0f}×"] for row in decisions]
    return [f"One placement decision, {decisions[0]['flights_each']} requests in flight on each candidate.", "",
            *_table(["candidates", "decide() µs", "µs / candidate", "shortest queue µs", "ratio"], rows), ""]


def markdown(result, scenarios):
    machine = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items() if version)
    lines = [f"{result['when']}, `{result['command']}`: {machine['processor']}, {machine['cores']} cores, "
             f"{machine['memory_gib']} GiB, Linux {machine['kernel']}, ledger on {machine['filesystem']}{'; ' * bool(versions)}{versions}.",
             f"Medians of {result['rounds']} round{'s' * (result['rounds'] > 1)}; in brackets the median of the ratios to HAProxy within a round.", ""]
    for scenario in scenarios:
        if any(run["scenario"] == scenario.name for run in result["runs"]):
            lines += _scenario_table(result, scenario)
    if result["decisions"]:
        lines += _decision_table(result["decisions"])
    if result["problems"]:
        lines += ["Not as it should be:", "", *(f"- {' '.join(problem.split())}" for problem in result["problems"]), ""]
    return "\n".join(lines)


def update_readme(path, text):
    readme = path.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    path.write_text(pattern.sub(lambda _: f"{BEGIN}\n\n{text}\n{END}", readme), encoding="utf-8")
