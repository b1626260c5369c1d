"""Who may import whom: the architecture, as a test."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from tests.architecture.source import (
    ENTRY_POINTS,
    PACKAGES,
    ROOT,
    Import,
    find_imports,
    read_modules,
)

# Modules of the pipeline which a trainer uses, so neither Beam nor TensorFlow comes with them.
LIGHT = ("errors", "schema", "storage", "text", "subwords", "corpora", "cli", "builtin")
LIGHT_MODULES = frozenset(f"pipeline.{name}" for name in LIGHT)
HEAVY = frozenset({"apache_beam", "keras", "tensorflow", "tensorflow_text"})
TRAINER_READS = frozenset(
    f"pipeline.{name}"
    for name in ("errors", "cli", "records", "schema", "storage", "subwords", "text", "wordpiece")
)
# The one module that translates on the workers of a Beam runner.
BEAM_IN_TRAINER = {
    "trainer.bulk_translation.apache_beam_job": {"apache_beam", "pipeline.stages.runners"}
}
# Loaded in functions alone: by a run that asked for wordpiece, or for files of an object store; and
# by what TensorFlow does in place, but Keras with TensorFlow does not.
LAZILY = {
    "pipeline.subwords.encoding": {"tensorflow_text"},
    "pipeline.common.storage": {"apache_beam"},
    "model.kernels.tensorflow_ops": {"tensorflow"},
}
STANDARD_LIBRARY = sys.stdlib_module_names


def violations(modules: Mapping[str, str]) -> list[str]:
    """Returns one line for each import that the architecture forbids, and for a cycle."""
    imports = find_imports(modules)
    found = [
        f"{each.importer} imports {each.imported}: {reason}"
        for each in imports
        if (reason := _forbidden(each))
    ]
    return found + list(_heavy_paths(imports)) + list(_cycles(imports))


def _forbidden(each: Import) -> str | None:
    """Returns why an import breaks a rule that needs no other import to be seen."""
    if each.imported in ENTRY_POINTS:
        return "entry points are imported by nothing"
    if each.package == "tests":
        return "tests are imported by tests alone"
    if each.importer in ENTRY_POINTS:
        return None
    package = each.importer.partition(".")[0]
    return {"model": _forbidden_to_model, "trainer": _forbidden_to_trainer}.get(
        package, _forbidden_to_pipeline
    )(each)


def _forbidden_to_model(each: Import) -> str | None:
    if each.package in {"model", "keras"} | STANDARD_LIBRARY:
        return None
    if each.lazy and each.package in LAZILY.get(each.importer, set()):
        return None
    return "model uses keras and the standard library only"


def _forbidden_to_trainer(each: Import) -> str | None:
    if {each.package, each.imported} & BEAM_IN_TRAINER.get(each.importer, set()):
        return None
    if each.package == "apache_beam":
        return "trainer does not use Beam"
    if each.package == "pipeline" and each.imported not in TRAINER_READS:
        return f"trainer uses only {', '.join(sorted(TRAINER_READS))} of the pipeline"
    return None


def _forbidden_to_pipeline(each: Import) -> str | None:
    if each.package in {"model", "trainer"}:
        return "the pipeline comes before model and trainer"
    allowed = LAZILY.get(each.importer, set())
    if each.importer in LIGHT_MODULES and each.package in HEAVY - allowed:
        return "this module is free of Beam, Keras and TensorFlow"
    return None


def _heavy_paths(imports: Sequence[Import]) -> Iterator[str]:
    """Yields the light modules which load a heavy library when they are imported."""
    for light in sorted(LIGHT_MODULES):
        reached, pending = {light}, [light]
        while pending:
            importer = pending.pop()
            for each in imports:
                if each.importer != importer or each.lazy or each.imported in reached:
                    continue
                if each.package in HEAVY:
                    yield f"{light} loads {each.package} at import, through {importer}"
                reached.add(each.imported)
                pending.append(each.imported)


def _cycles(imports: Sequence[Import]) -> Iterator[str]:
    """Yields a cycle between modules, also one that an import inside a function hides."""
    graph: dict[str, set[str]] = {}
    for each in imports:
        graph.setdefault(each.importer, set()).add(each.imported)
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
    present = sorted(LIGHT_MODULES & read_modules().keys())
    program = f"import sys, {', '.join(present)}; print(*sorted({set(HEAVY)} & set(sys.modules)))"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


def assert_reported(modules: Mapping[str, str], expected: str) -> None:
    found = violations(modules)
    assert len(found) == 1 and expected in found[0], found


def test_library_in_model_is_reported() -> None:
    source = "import math\nimport keras\nfrom absl import logging\n"
    assert_reported({"model.layers": source}, "model.layers imports absl")


def test_model_using_the_pipeline_is_reported_even_inside_a_function() -> None:
    source = "def build():\n    from pipeline import schema\n"
    modules = {"model.layers": source, "pipeline.dataset.schema": ""}
    assert_reported(modules, "model.layers imports pipeline.dataset.schema")


def test_beam_in_trainer_is_reported() -> None:
    assert_reported(
        {"trainer.data.input_pipeline": "import apache_beam as beam"}, "does not use Beam"
    )


def test_beam_in_the_module_for_it_is_allowed() -> None:
    modules = {"trainer.bulk_translation.apache_beam_job": "from pipeline import runners"}
    assert violations(modules | {"pipeline.stages.runners": ""}) == []
    modules = {
        "trainer.bulk_translation.apache_beam_job": "from pipeline import stages",
        "pipeline.stages.block_stages": "",
    }
    assert_reported(
        modules, "trainer.bulk_translation.apache_beam_job imports pipeline.stages.block_stages"
    )


def test_trainer_reading_the_corpora_is_reported() -> None:
    modules = {
        "trainer.data.input_pipeline": "from pipeline import corpora, text",
        "pipeline.corpora.blocks": "",
    }
    assert_reported(
        modules | {"pipeline.cleaning.normalization": ""},
        "trainer.data.input_pipeline imports pipeline.corpora.blocks",
    )


def test_pipeline_using_the_trainer_is_reported() -> None:
    modules = {
        "pipeline.encode": "from trainer.data.input_pipeline import read",
        "trainer.data.input_pipeline": "",
    }
    assert_reported(modules, "pipeline.encode imports trainer.data.input_pipeline")


def test_importing_an_entry_point_is_reported_also_from_another() -> None:
    modules = {"trainer.export": "from trainer import evaluate", "trainer.evaluate": ""}
    assert_reported(modules, "trainer.export imports trainer.evaluate")


def test_entry_points_may_import_anything_else() -> None:
    modules = {"trainer.translate": "import apache_beam\nfrom pipeline.encode import Encode"}
    assert violations(modules | {"pipeline.encode": "import apache_beam"}) == []


def test_light_module_reaching_beam_through_another_is_reported() -> None:
    modules = {
        "pipeline.dataset.schema": "import pipeline.blocks",
        "pipeline.blocks": "import apache_beam",
    }
    assert_reported(
        modules, "pipeline.dataset.schema loads apache_beam at import, through pipeline.blocks"
    )


def test_subwords_may_load_tensorflow_text_lazily() -> None:
    source = "def learn():\n    import tensorflow_text\n"
    assert violations({"pipeline.subwords.encoding": source}) == []
    assert_reported(
        {"pipeline.dataset.schema": source}, "pipeline.dataset.schema imports tensorflow_text"
    )
    assert_reported(
        {"pipeline.subwords.encoding": "import tensorflow_text"}, "loads tensorflow_text"
    )


def test_cycle_is_reported() -> None:
    modules = {"model.a": "from model import b", "model.b": "def late():\n    import model.a\n"}
    found = violations(modules)
    assert len(found) == 1 and found[0].startswith("cycle: model."), found
