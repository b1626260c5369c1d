"""A parser through all commands: trees in, trees out (§6.3)."""

import html
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.corpora.brackets import read_trees
from pipeline.dataset.trees import Tree, parse
from tests.helpers.commands import succeed
from tests.helpers.page_parsing import Page
from tests.helpers.tiny_run import training_flags
from tests.helpers.treebank import bracketed_trees
from tests.integration.test_model_commands import LOAD_ALONE
from trainer.evaluation.brackets import score_trees

pytestmark = pytest.mark.heavy
SENTENCES = ["dogs near cats run fast .", "", "A ( B )", "horses"]


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a tiny parser."""
    folder = tmp_path_factory.mktemp("parser")
    trees = bracketed_trees(420)
    for split, rows in (("train", trees[:360]), ("dev", trees[360:400]), ("test", trees[400:])):
        (folder / split).write_text("\n".join(rows))
    succeed(
        "pipeline.preprocess", f"--output_dir={folder / 'data'}", "--vocabulary_size=310",
        f"--trees={folder / 'train'}", f"--dev_trees={folder / 'dev'}",
        f"--test_trees={folder / 'test'}",
    )  # fmt: skip
    run_dir = folder / "run"
    printed = succeed(
        "trainer.task", *training_flags(folder / "data", run_dir, "--extra_length=20")
    )
    assert "dev: F1 " in printed
    return run_dir


def translate(*arguments: str, text: str = "\n".join(SENTENCES) + "\n") -> list[str]:
    return succeed("trainer.translate", *arguments, stdin=text).splitlines()


def words_of(tree: str) -> tuple[str, ...]:
    return parse(tree).words if tree else ()


def test_f1_on_dev_guides_training(parser: Path) -> None:
    result = json.loads((parser / "train.json").read_text())
    assert result["dev_f1"] == result["candidates"]["last"]["f1"]
    rows = [json.loads(line) for line in (parser / "metrics.jsonl").read_text().splitlines()]
    scores = [row["dev/f1"] for row in rows if "dev/f1" in row]
    (best,) = (parser / "best").iterdir()
    assert json.loads((best / "checkpoint.json").read_text())["bleu"] == max(scores)


def test_evaluation_scores_trees_against_the_treebank(parser: Path) -> None:
    printed = succeed("trainer.evaluate", f"--run_dir={parser}", "--resamples=20")
    assert printed.startswith("test: F1 ")
    result = json.loads((parser / "evaluation-test.json").read_text())
    rows = [json.loads(row) for row in (parser / "evaluation-test.jsonl").read_text().splitlines()]
    gold = [tree.brackets() for tree in read_trees(bracketed_trees(420)[400:], "gold")]
    assert [row["reference"] for row in rows] == gold
    expected = score_trees([row["translation"] for row in rows], gold)
    assert result["f1"] == expected["f1"].score
    assert {*expected, "no_repair"} == result["metrics"].keys()
    whole = sum(not row["is_repaired"] for row in rows)
    assert result["metrics"]["no_repair"]["score"] == 100 * whole / len(rows)
    succeed("trainer.report", f"--run_dir={parser}")
    page = Page((parser / "report.html").read_text())
    assert page.texts("dt")[0] == "F1"
    assert {"F1", "recall"} < {*page.texts("th")} and "BLEU" not in page.texts("th")


def test_every_line_becomes_a_tree_over_its_words(parser: Path) -> None:
    trees = translate(f"--run_dir={parser}", "--beam_size=1")
    assert [words_of(tree) for tree in trees] == [
        Tree((), tuple(sentence.replace("(", "-LRB-").replace(")", "-RRB-").split())).words
        for sentence in SENTENCES
    ]


def test_an_exported_parser_gives_the_same_trees_alone(parser: Path, tmp_path: Path) -> None:
    directory = tmp_path / "parser"
    succeed("trainer.export", f"--run_dir={parser}", f"--output_dir={directory}")
    trees = translate(f"--run_dir={parser}")
    assert translate(f"--saved_model={directory}") == trees
    done = subprocess.run(
        [sys.executable, "-c", LOAD_ALONE, str(directory)], cwd=tmp_path,
        input="\n".join(SENTENCES), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1])["translation"] == trees


def test_the_attention_page_shows_the_tree(parser: Path, tmp_path: Path) -> None:
    page = tmp_path / "attention.html"
    succeed(
        "trainer.attention", f"--run_dir={parser}", f"--text={SENTENCES[0]}",
        f"--output_file={page}",
    )  # fmt: skip
    (tree, *_) = translate(f"--run_dir={parser}")
    assert tree in html.unescape(page.read_text())
