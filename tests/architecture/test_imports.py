"""Who may import whom: the architecture, as a test.

1. An entry point is imported by nothing; it takes flags and makes one library call.
2. `model` uses keras and the standard library alone; TensorFlow in `model.kernels`, in functions.
3. `pipeline` knows neither `model` nor `trainer`. Beam is used by `pipeline.stages` alone; where a
   trainer reads (`common`, `dataset`, `subwords`, `corpora`, `cleaning`) and in the functions that
   the stages apply (`blocks`), neither Beam nor TensorFlow is loaded.
4. `trainer` uses `pipeline.common`, `pipeline.dataset` and `pipeline.subwords`; `ALSO` lists what
   single commands and rooms read beyond that. Beam is used by `trainer.bulk_translation` alone.
5. `beamformer` uses all three; nothing imports it. Its interface loads no library when it is
   imported.
6. Neither folders nor modules import one another in a circle.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from tests.architecture.source import (
    ENTRY_POINTS,
    PACKAGES,
    ROOT,
    Import,
    find_imports,
    read_modules,
)

HEAVY = frozenset({"apache_beam", "keras", "tensorflow", "tensorflow_text"})
LIGHT_FOLDERS = ("common", "dataset", "subwords", "corpora", "cleaning", "blocks")
BEAM_FOLDERS = frozenset({"pipeline.stages", "trainer.bulk_translation"})
TRAINER_READS = ("pipeline.common", "pipeline.dataset", "pipeline.subwords")
# What reads more of the pipeline than the rest of the trainer, by module or by folder.
ALSO = {
    "trainer.evaluation": ("pipeline.corpora.catalog", "pipeline.corpora.inputs"),
    "trainer.pages.driver": ("pipeline.card",),
    "trainer.bulk_translation": (
        "pipeline.corpora.spans",
        "pipeline.stages.runners",
        "apache_beam",
    ),
}
# Loaded in functions alone: wordpiece, files of an object store, TensorFlow's own operations.
LAZILY = {
    "pipeline.subwords": {"tensorflow_text"},
    "pipeline.common.storage": {"apache_beam"},
    "model.kernels": {"tensorflow"},
}


def violations(modules: Mapping[str, str]) -> list[str]:
    """Returns one line for each import that the architecture forbids, and for a cycle."""
    imports = find_imports(modules)
    forbidden = [
        f"{statement.importer} imports {statement.imported}: {reason}"
        for statement in imports
        if (reason := _forbidden(statement))
    ]
    cycles = [*_cycles(imports, lambda module: module), *_cycles(imports, _folder)]
    return forbidden + list(_heavy_paths(imports, modules)) + cycles[:1]


def _folder(module: str) -> str:
    """Returns the room of a module: its folder, or itself if it lies in no folder of a package."""
    return ".".join(module.split(".")[:2])


def _is_within(module: str, *places: str) -> bool:
    """Tells whether a module is one of `places` or lies in one."""
    return any(module == place or module.startswith(f"{place}.") for place in places)


def _is_light(module: str) -> bool:
    return _is_within(module, *(f"pipeline.{folder}" for folder in LIGHT_FOLDERS))


def _forbidden(statement: Import) -> str | None:
    """Returns why an import breaks a rule that needs no other import to be seen."""
    if statement.imported in ENTRY_POINTS:
        return "entry points are imported by nothing"
    if statement.package == "tests":
        return "tests are imported by tests alone"
    rules = {
        "model": _forbidden_to_model,
        "pipeline": _forbidden_to_pipeline,
        "trainer": _forbidden_to_trainer,
        "beamformer": lambda _: None,
    }
    if statement.package == "beamformer" != statement.importer.partition(".")[0]:
        return "beamformer is the interface for other programs"
    return rules[statement.importer.partition(".")[0]](statement)


def _forbidden_to_model(statement: Import) -> str | None:
    if statement.package in {"model", "keras"} | sys.stdlib_module_names or _is_lazy(statement):
        return None
    return "model uses keras and the standard library only"


def _forbidden_to_pipeline(statement: Import) -> str | None:
    if statement.package in {"model", "trainer"}:
        return "the pipeline comes before model and trainer"
    if _is_light(statement.importer) and statement.package in HEAVY and not _is_lazy(statement):
        return "this folder is free of Beam, Keras and TensorFlow"
    return _forbidden_beam(statement)


def _forbidden_to_trainer(statement: Import) -> str | None:
    also = ALSO.get(statement.importer, ()) + ALSO.get(_folder(statement.importer), ())
    if _is_within(statement.imported, *TRAINER_READS, *also):
        return None
    if statement.package == "pipeline":
        return f"trainer uses only {', '.join(TRAINER_READS)} of the pipeline"
    return _forbidden_beam(statement)


def _forbidden_beam(statement: Import) -> str | None:
    allowed = _folder(statement.importer) in BEAM_FOLDERS or _is_lazy(statement)
    if statement.package == "apache_beam" and not allowed:
        return f"Beam is used by {', '.join(sorted(BEAM_FOLDERS))} only"
    return None


def _is_lazy(statement: Import) -> bool:
    """Tells whether a library is imported in a function of a place that may do so."""
    places = [place for place, names in LAZILY.items() if statement.package in names]
    return statement.lazy and _is_within(statement.importer, *places)


def _heavy_paths(imports: Sequence[Import], modules: Mapping[str, str]) -> Iterator[str]:
    """Yields the light modules which load a heavy library when they are imported."""
    for light in filter(_is_light, sorted(modules)):
        reached, pending = {light}, [light]
        while pending:
            importer = pending.pop()
            for statement in imports:
                if statement.importer != importer or statement.lazy:
                    continue
                if statement.package in HEAVY and importer != light:
                    yield f"{light} loads {statement.package} at import, through {importer}"
                if statement.imported not in reached:
                    reached.add(statement.imported)
                    pending.append(statement.imported)


def _cycles(imports: Sequence[Import], node_of: Callable[[str], str]) -> Iterator[str]:
    """Yields a cycle between modules or folders, also one that a lazy import hides."""
    graph: dict[str, set[str]] = {}
    for statement in imports:
        importer, imported = node_of(statement.importer), node_of(statement.imported)
        if importer != imported or statement.importer == statement.imported:
            graph.setdefault(importer, set()).add(imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"cycle: {' imports '.join(reversed(error.args[1]))}"


def test_modules_import_only_what_the_architecture_allows() -> None:
    modules = read_modules()
    assert {name.partition(".")[0] for name in modules} == set(PACKAGES)
    assert violations(modules) == []


def test_light_modules_load_neither_beam_nor_tensorflow() -> None:
    """As above, but seen from Python: also what third-party libraries load counts."""
    light = sorted(filter(_is_light, read_modules()))
    program = f"import sys, {', '.join(light)}; print(*sorted({set(HEAVY)} & set(sys.modules)))"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


def test_every_place_with_a_rule_of_its_own_exists() -> None:
    modules = read_modules()
    places = {*LAZILY, *BEAM_FOLDERS, *ALSO, *TRAINER_READS, *ENTRY_POINTS}
    places |= {place for reads in ALSO.values() for place in reads if place != "apache_beam"}
    assert sorted(places - modules.keys()) == []


def assert_reported(modules: Mapping[str, str], expected: str) -> None:
    reported = violations(modules)
    assert len(reported) == 1 and expected in reported[0], reported


def test_library_in_model_is_reported() -> None:
    source = "import math\nimport keras\nfrom absl import logging\n"
    assert_reported({"model.masks": source}, "model.masks imports absl")


def test_model_using_the_pipeline_is_reported_even_inside_a_function() -> None:
    source = "def build():\n    from pipeline.dataset import schema\n"
    modules = {"model.masks": source, "pipeline.dataset.schema": ""}
    assert_reported(modules, "model.masks imports pipeline.dataset.schema")


def test_model_loads_tensorflow_in_functions_of_its_kernels_alone() -> None:
    source = "def multiply():\n    import tensorflow\n"
    assert violations({"model.kernels.products": source}) == []
    assert_reported({"model.masks": source}, "model.masks imports tensorflow")
    assert_reported({"model.kernels.products": "import tensorflow"}, "imports tensorflow")


def test_beam_in_trainer_is_reported() -> None:
    assert_reported({"trainer.data.batches": "import apache_beam as beam"}, "Beam is used by")


def test_beam_in_the_folder_for_it_is_allowed() -> None:
    modules = {
        "trainer.bulk_translation.job": "import apache_beam\nfrom pipeline.stages import runners",
        "pipeline.stages.runners": "import apache_beam",
    }
    assert violations(modules) == []
    modules = {"trainer.bulk_translation.job": "from pipeline.stages import worker"}
    modules["pipeline.stages.worker"] = ""
    assert_reported(modules, "trainer.bulk_translation.job imports pipeline.stages.worker")


def test_trainer_reading_the_corpora_is_reported() -> None:
    modules = {
        "trainer.data.batches": "from pipeline.corpora import blocks\nimport pipeline.common.cli",
        "pipeline.corpora.blocks": "",
        "pipeline.common.cli": "",
    }
    assert_reported(modules, "trainer.data.batches imports pipeline.corpora.blocks")


def test_pipeline_using_the_trainer_is_reported() -> None:
    modules = {"pipeline.build.encode": "from trainer.data import read", "trainer.data.read": ""}
    assert_reported(modules, "pipeline.build.encode imports trainer.data.read")


def test_importing_an_entry_point_is_reported_also_from_another() -> None:
    modules = {"trainer.export": "from trainer import evaluate", "trainer.evaluate": ""}
    assert_reported(modules, "trainer.export imports trainer.evaluate")


def test_entry_points_keep_the_rules_too() -> None:
    modules = {"trainer.score": "from pipeline.build import driver", "pipeline.build.driver": ""}
    assert_reported(modules, "trainer.score imports pipeline.build.driver")
    modules = {"trainer.pages.driver": "from pipeline import card", "pipeline.card": ""}
    assert violations(modules) == []
    modules = {"trainer.report": "from pipeline import card", "pipeline.card": ""}
    assert_reported(modules, "trainer.report imports pipeline.card")


def test_light_module_reaching_beam_through_another_is_reported() -> None:
    modules = {"pipeline.dataset.schema": "import pipeline.card", "pipeline.card": "import keras"}
    assert_reported(modules, "pipeline.dataset.schema loads keras at import, through pipeline.card")


def test_subwords_may_load_tensorflow_text_lazily() -> None:
    source = "def learn():\n    import tensorflow_text\n"
    assert violations({"pipeline.subwords.learning": source}) == []
    assert_reported({"pipeline.dataset.schema": source}, "imports tensorflow_text")
    assert_reported({"pipeline.subwords.learning": "import tensorflow_text"}, "tensorflow_text")


def test_using_the_interface_for_other_programs_is_reported() -> None:
    modules = {"trainer.task": "import beamformer.training", "beamformer.training": ""}
    assert_reported(modules, "beamformer is the interface for other programs")
    modules = {"beamformer.training": "import trainer.task", "trainer.task": ""}
    assert_reported(modules, "entry points are imported by nothing")
    modules = {"beamformer.training": "import trainer.data.a", "trainer.data.a": ""}
    assert violations(modules) == []


def test_cycle_of_modules_is_reported() -> None:
    modules = {"model.a": "from model import b", "model.b": "def late():\n    import model.a\n"}
    reported = violations(modules)
    assert len(reported) == 1 and reported[0].startswith("cycle: model."), reported


def test_cycle_of_folders_is_reported() -> None:
    modules = {
        "trainer.data.a": "import trainer.runs.b",
        "trainer.runs.b": "",
        "trainer.runs.c": "import trainer.data.d",
        "trainer.data.d": "",
    }
    reported = violations(modules)
    assert len(reported) == 1 and reported[0].startswith("cycle: trainer."), reported
