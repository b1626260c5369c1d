"""Scores parsers of this project beside Stanford's PCFG, trained on the same trees.

    python -m tests.benchmarks.parsers --trees=train.tree --test_trees=test.tree \
        --run_dirs runs/parsing runs/greedy --work_dir=/tmp/parsers

Every parser receives words alone, and one scorer scores all of them on the same sentences. A run
directory, or --output_dir of trainer.evaluate, holds the trees of a parser. Requires Java and
Maven; the grammar and the parses in the work directory are used again.
"""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.corpora.brackets import read_trees
from pipeline.dataset.trees import Tree
from tests.benchmarks.record import output_flag, write_record
from tests.benchmarks.rivals import stanford_pcfg
from trainer.evaluation.parsing import score_parses
from trainer.evaluation.result import TranslatedSentence, read_translations, translations_path

RESAMPLES = 1000

Rows = list[TranslatedSentence]  # the trees of a parser


def main() -> None:
    """Trains and parses, prints F1 and writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trees", type=Path, required=True, help="training trees")
    parser.add_argument("--test_trees", type=Path, required=True)
    parser.add_argument("--run_dirs", nargs="*", default=[])
    parser.add_argument("--every", type=int, default=1, help="parse every N-th test sentence")
    parser.add_argument("--work_dir", type=Path, required=True)
    output_flag(parser, "parsers")
    arguments = parser.parse_args()
    arguments.work_dir.mkdir(parents=True, exist_ok=True)
    with arguments.test_trees.open(encoding="utf-8") as lines:
        trees = list(read_trees(lines, str(arguments.test_trees)))[:: arguments.every]
    pcfg = _parse_with_pcfg(arguments.trees, trees, arguments.work_dir)
    systems = {stanford_pcfg.NAME: pcfg}
    for run_dir in map(Path, arguments.run_dirs):
        systems[run_dir.name] = _read_run(run_dir, trees, arguments.every)
    results = _score(systems)
    for name, scores in results.items():
        print(f"{name}: F1 {scores['metrics']['f1']['score']:.2f}")
    write_record("parsers", arguments, {"sentences": len(trees), "systems": results})


def _parse_with_pcfg(train_trees: Path, trees: Sequence[Tree], work: Path) -> Rows:
    grammar = stanford_pcfg.train(train_trees, work)
    parses = stanford_pcfg.parse(grammar, [tree.words for tree in trees], work)
    return [
        TranslatedSentence(" ".join(tree.words), tree.brackets(), parse.brackets(), 0.0)
        for tree, parse in zip(trees, parses, strict=True)
    ]


def _read_run(run_dir: Path, trees: Sequence[Tree], every: int) -> Rows:
    rows = read_translations(translations_path(run_dir, "test"))[::every]
    if [row.reference for row in rows] != [tree.brackets() for tree in trees]:
        raise SystemExit(f"error: {run_dir} was evaluated on other trees than --test_trees")
    return rows


def _score(systems: Mapping[str, Rows]) -> dict[str, dict[str, Any]]:
    """Returns the scores of each system, and how its F1 compares with the first one's."""
    first = [row.translation for row in next(iter(systems.values()))]
    results = {}
    for name, rows in systems.items():
        scores = score_parses(rows, first, resamples=RESAMPLES)
        results[name] = {
            "metrics": {metric: dataclasses.asdict(s) for metric, s in scores.metrics.items()},
            "p_value": scores.beside_baseline["f1"].p_value,
        }
    return results


if __name__ == "__main__":
    main()
