"""Results of training as documents show them, from the files in configs/results.

Each file is one experiment: its flagfile and commands, what they printed, and the figures of its
row in README. `bleu` is None where an experiment has not been run.
"""

import json
from collections.abc import Mapping
from typing import Any

from tests.benchmarks.record import ROOT

RESULTS = ROOT / "configs" / "results"

Result = Mapping[str, Any]


def read_results() -> list[Result]:
    """Returns all results by file name, those that are not yet run last."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*"))]
    return sorted(results, key=lambda result: result["bleu"] is None)


def summary() -> str:
    """Returns the table of README: one row per experiment."""
    lines = ["task | test set | BLEU | trained on | time", "--- | --- | --- | --- | ---"]
    for result in read_results():
        if result.get("in_readme", True):
            lines.append(" | ".join(_summary_cells(result)))
    return "".join(f"| {line} |\n" for line in lines)


def demo_output() -> str:
    """Returns what `make demo` ends with."""
    return _block("", _read("demo")["printed"])


def results_in_full() -> str:
    """Returns a section for every experiment: commands, what they printed, learning curve."""
    return "\n".join(_section(result) for result in read_results())


def _read(name: str) -> Result:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def _summary_cells(result: Result) -> list[str]:
    bleu = result["bleu"]
    score = "not yet run" if bleu is None else f"**{bleu:.1f}** {_scale(result['metric'])}".strip()
    task, time = f"{result['task']}: {result['model']}", result["time"]
    hardware = f"{time}, {result['hardware']}" if time else ""
    return [task, result["test_set"], score, result["trained_on"], hardware]


def _scale(metric: str) -> str:
    """Names the scale where it is not the usual one."""
    return "" if metric == "sacreBLEU" else metric


def _section(result: Result) -> str:
    commit = f", documented at commit {result['commit']}" if result["commit"] else ""
    name = result["flagfile"].removeprefix("configs/")
    parts = [
        f"## {result['task']}\n",
        f"{result['model']}; flagfile [`{result['flagfile']}`]({name}){commit}.\n",
        *(f"{note}\n" for note in result["notes"]),
        _block("", result["commands"]),
    ]
    if result["printed"]:
        parts.append(_block("text", result["printed"]))
    if "curve" in result:
        parts.append(_curve(result["curve"]))
    return "\n".join(parts)


def _block(language: str, lines: list[str]) -> str:
    return "\n".join([f"```{language}", *lines, "```"]) + "\n"


def _curve(curve: Mapping[str, Any]) -> str:
    columns = curve["columns"]
    lines = [columns, ["---"] * len(columns)]
    for name, values in curve["rows"].items():
        lines.append([name, *("" if value is None else str(value) for value in values)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
