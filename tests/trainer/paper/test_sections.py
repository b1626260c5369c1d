"""The page tells the truth: what it names exists."""

import ast
import importlib
from typing import Any

import pytest

from tests.architecture.source import ROOT
from trainer.paper.sections import CHAPTERS, Section
from trainer.paper.ten_bugs import TEN_BUGS

SECTIONS = [section for sections in CHAPTERS.values() for section in sections]
EDITS = [edit for bug in TEN_BUGS for edit in bug.edits]
NUMBERS = [
    "3.1",
    "3.2.1",
    "3.2.2",
    "3.2.3",
    "3.3",
    "3.4",
    "3.5",
    "4",
    "5.1",
    "5.2",
    "5.3",
    "5.4",
    "6.1",
    "6.2",
    "6.3",
]


def exists(name: str) -> bool:
    """Tells whether a path of the repository, or a dotted name, exists."""
    if "/" in name:
        return (ROOT / name).exists()
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        if ROOT.joinpath(*parts[:count]).with_suffix(".py").exists():
            value: Any = importlib.import_module(".".join(parts[:count]))
            for part in parts[count:]:
                value = getattr(value, part, None)
            return value is not None
    return ROOT.joinpath(*parts).is_dir()


def is_test(name: str) -> bool:
    """Tells whether a file has a test, named as pytest does."""
    file, _, function = name.partition("[")[0].partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_sections_are_the_papers_in_order() -> None:
    assert [section.number for section in SECTIONS] == NUMBERS
    for chapter, sections in CHAPTERS.items():
        assert all(section.number[0] == chapter[0] for section in sections)


@pytest.mark.parametrize("section", SECTIONS, ids=NUMBERS)
def test_code_and_tests_of_a_section_exist(section: Section) -> None:
    assert section.code and section.tests
    assert [name for name in section.code if not exists(name)] == []
    assert [name for name in section.tests if not is_test(name)] == []


def test_a_bug_edits_a_line_that_is_there_once_and_names_a_test() -> None:
    assert len(TEN_BUGS) == len({bug.name for bug in TEN_BUGS}) == 10
    for edit in EDITS:
        assert (ROOT / edit.file).read_text(encoding="utf-8").count(edit.ours) == 1, edit
        assert is_test(edit.test), edit


def test_what_does_not_exist_is_noticed() -> None:
    assert exists("model.masks.causal_mask") and exists("configs/base.flags")
    assert not exists("model.masks.no_mask") and not exists("model.nothing")
    assert is_test("tests/model/test_masks.py::test_special_ids_are_the_datasets[x]")
    assert not is_test("tests/model/test_masks.py::test_nothing")
