"""Runs the recipes of configs/recipes/README.md, and records their scores, sizes and speeds.

    python -m tests.benchmarks.recipes --data=DIR --work_dir=runs/benchmark --output=recipes.json

Runs the commands of the page itself, block by block, in `--work_dir`; `--data` is the `DIR` in
them. When stopped, the same command resumes: finished blocks are skipped, and the commands
of others continue. Then the speeds of `tests.benchmarks.recipe_speeds` are measured. Requires
`pip install '.[ctranslate2]'`.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import recipe_speeds
from tests.benchmarks.record import ROOT, output_flag, write_record

PAGE = ROOT / "configs" / "recipes" / "README.md"
RECIPES: Mapping[str, str] = {  # and the heading of the section with its commands
    "multilingual": "Several languages in one model",
    "deep_encoder": "Deep encoder, shallow decoder",
    "fine_tuning": "Fine-tuning on another domain",
    "back_translation": "Back-translation",
    "distillation": "Distillation",
}
_SECTION = re.compile(r"^## (.*)\n((?:(?!## ).*\n)*)", re.MULTILINE)
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Runs what has not been run, and writes JSON after every recipe."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the corpora, DIR on the page")
    parser.add_argument("--work_dir", type=Path, required=True)
    output_flag(parser, "recipes")
    parser.add_argument("--only", choices=RECIPES, help="one recipe; those it builds on have run")
    parser.add_argument("--rounds", type=int, default=5, help="of translating, for speeds")
    arguments = parser.parse_args()
    work_dir: Path = arguments.work_dir
    prepare(work_dir)
    for recipe in [arguments.only] if arguments.only else RECIPES:
        run_recipe(recipe, arguments.data.resolve(), work_dir)
        write_record("recipes", arguments, {"runs": collect(work_dir)})
    results = {"runs": collect(work_dir), **recipe_speeds.measure(work_dir, arguments.rounds)}
    write_record("recipes", arguments, results)


def prepare(work_dir: Path) -> None:
    """Makes the folder in which the commands run, with the flagfiles of the repository."""
    work_dir.mkdir(parents=True, exist_ok=True)
    link = work_dir / "configs"
    if not link.exists():
        link.symlink_to(ROOT / "configs")


def run_recipe(recipe: str, data: Path, work_dir: Path) -> None:
    """Runs the commands of a recipe that have not succeeded before.

    Raises:
        SystemExit: a command failed.
    """
    for block in read_blocks(recipe):
        finished = work_dir / "finished" / hashlib.sha256(block.encode()).hexdigest()
        if not finished.exists():
            _run(block, data, work_dir)
            finished.parent.mkdir(exist_ok=True)
            finished.touch()


def read_blocks(recipe: str) -> list[str]:
    """Returns the commands of a recipe, by block of the page."""
    sections = dict(_SECTION.findall(PAGE.read_text(encoding="utf-8")))
    return _BLOCK.findall(sections[RECIPES[recipe]])


def collect(work_dir: Path) -> dict[str, dict[str, Any]]:
    """Returns the figures of all runs by name: what training took, and scores by test set.

    A test set is named after the folder of its result, if that is not the run's, and its split.
    """
    return {
        path.parent.name: _figures(path.parent)
        for path in sorted(work_dir.glob("runs/recipes/*/train.json"))
    }


def _figures(run_dir: Path) -> dict[str, Any]:
    training = json.loads((run_dir / "train.json").read_text(encoding="utf-8"))
    scores = {}
    for path in sorted(run_dir.rglob("evaluation-*.json")):
        name = path.relative_to(run_dir).with_suffix("").as_posix().replace("evaluation-", "")
        scores[name] = _scores(json.loads(path.read_text(encoding="utf-8")))
    return {
        "parameters": _count_parameters(run_dir),
        "updates": training["steps"],
        "train_seconds": training["train_seconds"],
        "dev_bleu": training["dev_bleu"],
        "scores": scores,
    }


def _count_parameters(run_dir: Path) -> int:
    with np.load(run_dir / "averaged" / "weights.npz") as arrays:
        return sum(arrays[name].size for name in arrays.files)


def _scores(result: Mapping[str, Any]) -> dict[str, Any]:
    bleu = result["metrics"]["bleu"]
    baseline = result.get("beside_baseline", {}).get("bleu", {})
    return {
        "bleu": result["sacrebleu"],
        "low": bleu["low"],
        "high": bleu["high"],
        "p_value": baseline.get("p_value"),
        "perplexity": result["perplexity"],
        "signature": result["signature"],
    }


def _run(block: str, data: Path, work_dir: Path) -> None:
    environment = {
        **os.environ,
        "DIR": str(data),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
    }
    done = subprocess.run(["bash", "-ec", block], cwd=work_dir, env=environment)
    if done.returncode:
        raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
