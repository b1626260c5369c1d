"""Scores a parser of this project beside Stanford's PCFG, trained on the same trees.

    python -m tests.benchmarks.parsers --trees=train.tree --test_trees=test.tree \
        --run_dirs=runs/parsing --work_dir=/tmp/parsers

Every parser receives words alone, and one scorer scores all of them on the same sentences. The runs
must have been evaluated on the test set by trainer.evaluate. Requires Java and Maven; a
grammar in the work directory is used again.
"""

import argparse
import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.corpora.brackets import read_trees
from tests.benchmarks.record import output_flag, write_record
from tests.benchmarks.rivals import stanford_pcfg
from trainer.evaluation.brackets import compare_trees, score_trees
from trainer.evaluation.result import read_translations, translations_path

RESAMPLES = 1000


def main() -> None:
    """Trains and parses, prints F1 and writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trees", type=Path, required=True, help="training trees")
    parser.add_argument("--test_trees", type=Path, required=True)
    parser.add_argument("--run_dirs", nargs="*", default=[], type=Path)
    parser.add_argument("--every", type=int, default=1, help="parse every N-th test sentence")
    parser.add_argument("--work_dir", type=Path, required=True)
    output_flag(parser, "parsers")
    arguments = parser.parse_args()
    arguments.work_dir.mkdir(parents=True, exist_ok=True)
    with arguments.test_trees.open(encoding="utf-8") as lines:
        trees = list(read_trees(lines, str(arguments.test_trees)))[:: arguments.every]
    references = [tree.brackets() for tree in trees]
    sentences = [tree.words for tree in trees]
    pcfg = _parse_with_pcfg(arguments.trees, sentences, arguments.work_dir)
    systems = {stanford_pcfg.NAME: pcfg}
    for run_dir in arguments.run_dirs:
        rows = read_translations(translations_path(run_dir, "test"))[:: arguments.every]
        if [row.reference for row in rows] != references:
            raise SystemExit(f"error: {run_dir} was evaluated on other trees than --test_trees")
        systems[run_dir.name] = {"trees": [row.translation for row in rows]}
    results = _score(systems, references)
    for name, scores in results.items():
        print(f"{name}: F1 {scores['metrics']['f1']['score']:.2f}")
    results_of_all = {"sentences": len(references), "systems": results}
    write_record("parsers", arguments, results_of_all)


def _parse_with_pcfg(trees: Path, sentences: Sequence[Sequence[str]], work: Path) -> dict[str, Any]:
    grammar, train_seconds = stanford_pcfg.train(trees, work)
    start = time.monotonic()
    parses = stanford_pcfg.parse(grammar, sentences, work)
    seconds = time.monotonic() - start
    times = {"train_seconds": train_seconds, "parse_seconds": seconds}
    return {"trees": [tree.brackets() for tree in parses], **times}


def _score(
    systems: Mapping[str, Mapping[str, Any]], references: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Returns the scores of each system, and how its F1 compares with the first one's."""
    first = next(iter(systems.values()))["trees"]
    results = {}
    for name, system in systems.items():
        metrics = score_trees(system["trees"], references, resamples=RESAMPLES)
        compared = compare_trees(system["trees"], first, references, resamples=RESAMPLES)["f1"]
        results[name] = {
            "metrics": {metric: dataclasses.asdict(score) for metric, score in metrics.items()},
            "p_value": compared.p_value,
            **{key: value for key, value in system.items() if key != "trees"},
        }
    return results
