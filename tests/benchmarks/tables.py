"""Writes the tables of the documents from committed JSON.

    python -m tests.benchmarks.tables

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->` in a document; NAME is a
key of `TABLES`. Benchmarks' records are in tests/benchmarks/results, results of training in
configs/results. A table without records names the command that makes one.
"""

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.benchmarks import (
    host_tables,
    layer_tables,
    optimisation_tables,
    projection_tables,
    quality_tables,
    recipe_tables,
    scale_tables,
    serving_tables,
    speed_tables,
    training_results,
)
from tests.benchmarks.record import ROOT

DOCUMENTS = (
    "BUILD.md",
    "README.md",
    "configs/RESULTS.md",
    "configs/recipes/README.md",
    "pipeline/README.md",
    "serving/README.md",
    "tests/benchmarks/RESULTS.md",
)
_TABLE = re.compile(
    r"(?<=<!-- table: )(?P<name>[a-z_0-9]+)( -->\n).*?(?=<!-- end of table -->)", re.DOTALL
)


def main() -> None:
    """Rewrites the documents whose tables have changed."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    for name in DOCUMENTS:
        path = ROOT / name
        old = path.read_text(encoding="utf-8")
        new = fill(old)
        if new != old:
            path.write_text(new, encoding="utf-8")
            print(f"written: {name}")
    for path, draw in FILES.items():
        if drawing := draw():
            path.write_text(drawing, encoding="utf-8")


def fill(document: str) -> str:
    """Returns a document with every table as its records have it.

    Raises:
        KeyError: a table has an unknown name.
    """
    return _TABLE.sub(lambda match: f"{match['name']}{match[2]}{TABLES[match['name']]()}", document)


TABLES: Mapping[str, Callable[[], str]] = {
    function.__name__: function
    for function in (
        speed_tables.training,
        host_tables.host_time,
        speed_tables.decoding,
        speed_tables.latency,
        speed_tables.time_by_length,
        speed_tables.decoding_memory,
        serving_tables.serving_load,
        serving_tables.sentence_latency,
        serving_tables.small_machines,
        speed_tables.preprocessing,
        speed_tables.encoding,
        scale_tables.scale,
        scale_tables.scale_phases,
        scale_tables.scale_on_paper,
        optimisation_tables.optimisations,
        optimisation_tables.rejected,
        quality_tables.ctranslate2_agreement,
        quality_tables.learning_curve,
        quality_tables.ablation,
        recipe_tables.recipe_multilingual,
        recipe_tables.recipe_deep_encoder,
        recipe_tables.recipe_fine_tuning,
        recipe_tables.recipe_back_translation,
        recipe_tables.recipe_distillation,
        quality_tables.parsers,
        quality_tables.table_2,
        quality_tables.table3_small,
        quality_tables.extrapolation,
        projection_tables.projection,
        projection_tables.projection_check,
        projection_tables.projection_changes,
        projection_tables.memory,
        layer_tables.layer_types,
        layer_tables.crossings,
        speed_tables.readme_training,
        speed_tables.readme_decoding,
        training_results.summary,
        training_results.demo_output,
        training_results.results_in_full,
    )
}

# Drawings by the file that holds them.
FILES: Mapping[Path, Callable[[], str]] = {layer_tables.PLOT: layer_tables.plot}

if __name__ == "__main__":
    main()
