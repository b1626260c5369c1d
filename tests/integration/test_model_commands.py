"""Commands that use a trained model: evaluate, score, export, translate, report, attention."""

import json
import re
import shutil
import signal
from pathlib import Path

import pytest

from pipeline.corpora.builtin import generate_pairs
from tests.helpers.commands import TIMEOUT, refuse, run_process, start, succeed
from tests.helpers.page_parsing import Page
from tests.helpers.preprocessing import build, configure
from trainer.bulk_translation.blocks import Model, list_blocks

LOAD_ALONE = """
import json, sys
import tensorflow as tf, tensorflow_text
assert "model" not in sys.modules and "trainer" not in sys.modules
sentences = sys.stdin.read().splitlines()
serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
result = serve(text=tf.constant(sentences))
print(json.dumps({
    "translation": [text.decode() for text in result["translation"].numpy()],
    "score": result["score"].numpy().tolist(),
}))
"""


def test_evaluation_writes_scores_with_their_signatures_and_the_translations(
    trained: Path,
) -> None:
    result = json.loads((trained / "evaluation-test.json").read_text())
    assert result["sentences"] == 12
    assert "tok:13a" in result["signature"]
    assert 0 <= result["sacrebleu"] <= 100
    assert result["metrics"].keys() == {"bleu", "chrf", "chrf++", "ter", "paper_bleu"}
    assert sum(row["sentences"] for row in result["bleu_by_length"]) == 12
    rows = (trained / "evaluation-test.jsonl").read_text().splitlines()
    assert len(rows) == 12
    assert json.loads(rows[0]).keys() == {"source", "reference", "translation", "score"}


def test_an_ensemble_is_compared_with_a_baseline_on_several_test_sets(
    trained: Path, tmp_path: Path
) -> None:
    run_dir, baseline_dir = (shutil.copytree(trained, tmp_path / name) for name in ("run", "base"))
    evaluate = ("trainer.evaluate", "--resamples=20")
    assert "--split=dev" in refuse(
        *evaluate, f"--run_dir={run_dir}", "--split=dev", f"--baseline_run_dir={baseline_dir}"
    )
    succeed(*evaluate, f"--run_dir={baseline_dir}", "--split=dev,test")
    output_dir, before = tmp_path / "my results", (run_dir / "evaluation-test.json").read_bytes()
    printed = succeed(
        *evaluate, f"--run_dir={run_dir}", "--split=dev,test", f"--output_dir={output_dir}",
        f"--baseline_run_dir={baseline_dir}", f"--ensemble={trained}", "--tokenize=char",
    )  # fmt: skip
    assert (run_dir / "evaluation-test.json").read_bytes() == before
    assert len((output_dir / "evaluation-test.jsonl").read_text().splitlines()) == 12
    assert re.match(r"dev: BLEU \d+\.\d\d \(95 % interval .*\), \d+ sentences\n", printed)
    assert "\n\ntest: BLEU " in printed
    for split in ("dev", "test"):
        baseline, result = (
            json.loads((directory / f"evaluation-{split}.json").read_text())
            for directory in (baseline_dir, output_dir)
        )
        assert result["beside_baseline"]["bleu"]["baseline"] == result["sacrebleu"]
        assert "tok:char" in result["signature"]
        assert "tok:13a" in baseline["signature"]
        assert result["metrics"]["chrf"]["low"] <= result["metrics"]["chrf"]["score"]
        assert result["perplexity"] == pytest.approx(baseline["perplexity"])


def test_given_translations_are_scored_token_by_token(trained: Path, tmp_path: Path) -> None:
    lines = (trained / "evaluation-test.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for side, key in (("source", "source"), ("target", "translation")):
        (tmp_path / side).write_text("".join(f"{row[key]}\n" for row in rows), "utf-8")
    files = [f"--{side}_file={tmp_path / side}" for side in ("source", "target")]
    scored = succeed("trainer.score", f"--run_dir={trained}", *files).splitlines()
    assert len(scored) == len(rows)
    output = tmp_path / "scores.jsonl"
    printed = succeed("trainer.score", f"--run_dir={trained}", *files, f"--output_file={output}")
    assert printed == f"12 scores written: {output}\n"
    assert output.read_text("utf-8").splitlines() == scored
    for line, row in zip(map(json.loads, scored), rows, strict=True):
        assert line["log_prob"] == pytest.approx(sum(line["token_log_probs"]), rel=1e-5)
        assert "".join(line["tokens"][:-1]).replace("\u2581", " ").strip() == row["translation"]
        assert all(log_prob < 0 for log_prob in line["token_log_probs"])
        penalty = ((5 + len(line["tokens"])) / 6) ** 0.6
        assert line["score"] == pytest.approx(line["log_prob"] / penalty, rel=1e-5)


def test_saved_model_translates_without_this_repository_as_translate_does(
    trained: Path, text_dataset: Path, tmp_path: Path
) -> None:
    text = (text_dataset / "test" / "source.txt").read_text("utf-8") + "\n"  # and an empty line
    model = shutil.copytree(trained / "saved_model", tmp_path / "elsewhere")
    process = run_process("-c", LOAD_ALONE, model, cwd=tmp_path, stdin=text)
    assert process.returncode == 0, process.stderr
    alone = json.loads(process.stdout)
    by_run = succeed("trainer.translate", f"--run_dir={trained}", stdin=text)
    by_model = succeed("trainer.translate", f"--saved_model={model}", stdin=text)
    assert by_run == by_model
    assert by_run.splitlines() == alone["translation"]
    assert len(alone["translation"]) == 13
    assert all(score <= 0 for score in alone["score"])


@pytest.mark.heavy
def test_workers_resume_a_partial_translation(trained: Path, tmp_path: Path) -> None:
    model = str(trained / "saved_model")
    lines = [source for source, _ in generate_pairs("dev")[:7]]
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    first, *_ = list_blocks([str(tmp_path / "in")], 2, Model(model))
    (tmp_path / "out.parts").mkdir()
    (tmp_path / "out.parts" / first.name).write_text("done\nbefore\n")
    result = run_process(
        "-m", "trainer.translate", f"--saved_model={model}", f"--input_file={tmp_path / 'in'}",
        f"--output_file={tmp_path / 'out'}", "--block_lines=2", "--runner=DirectRunner",
        "--num_workers=2",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "1 of 4 blocks were finished before" in result.stderr
    assert "port.cc" not in result.stderr  # TensorFlow's notices, of the workers too
    rest = succeed("trainer.translate", f"--saved_model={model}", stdin="\n".join(lines[2:]))
    assert (tmp_path / "out").read_text("utf-8") == "done\nbefore\n" + rest
    assert not (tmp_path / "out.parts").exists()


def test_evaluating_on_other_subwords_is_refused(trained: Path, tmp_path: Path) -> None:
    other_dataset = build(configure(tmp_path, "other")).directory
    line = refuse("trainer.evaluate", f"--run_dir={trained}", f"--dataset_dir={other_dataset}")
    assert f"--subwords_model={trained}/subwords.model" in line


def test_a_folder_that_cannot_be_written_is_refused_before_evaluating(
    trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    output_dir = tmp_path / "file" / "results"
    line = refuse("trainer.evaluate", f"--run_dir={trained}", f"--output_dir={output_dir}")
    assert f"cannot write to {output_dir}: Not a directory; set another --output_dir" in line


def test_a_moved_dataset_is_refused_with_the_flag_that_finds_it(
    trained: Path, text_dataset: Path, tmp_path: Path
) -> None:
    run_dir = shutil.copytree(trained, tmp_path / "run")
    path = run_dir / "run.json"
    path.write_text(path.read_text("utf-8").replace(str(text_dataset), str(tmp_path / "none")))
    for command in ("trainer.evaluate", "trainer.report"):
        assert f"{tmp_path / 'none'}: set --dataset_dir" in refuse(command, f"--run_dir={run_dir}")


def test_a_refused_translation_leaves_nothing_behind(tmp_path: Path) -> None:
    refuse(
        "trainer.translate", "--saved_model=none", f"--input_file={tmp_path / 'none'}",
        f"--output_file={tmp_path / 'out'}",
    )  # fmt: skip
    (tmp_path / "in").touch()
    refuse(
        "trainer.translate", "--saved_model=none", f"--input_file={tmp_path / 'in'}",
        f"--output_file={tmp_path / 'out'}", "--runner=Nope",
    )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_folder_that_cannot_be_written_is_refused_before_exporting(
    trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    line = refuse(
        "trainer.export", f"--run_dir={trained}", f"--output_dir={tmp_path / 'file' / '1'}"
    )
    assert str(tmp_path / "file") in line


def test_translate_gives_the_n_best(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("The dog sleeps.\n\nThe dog barks.\n", "utf-8")
    command = (
        "trainer.translate", f"--run_dir={trained}", "--n_best=2", "--block_lines=2",
        f"--input_file={tmp_path / 'in'}",
    )  # fmt: skip
    rows = [line.split(" ||| ") for line in succeed(*command).splitlines()]
    assert [number for number, _, _ in rows] == ["0", "0", "1", "2", "2"]  # a blank line has one
    scores = [float(score) for _, _, score in rows]
    assert scores[0] > scores[1]
    assert scores[3] > scores[4]
    succeed(*command, f"--output_file={tmp_path / 'out'}")
    assert [line.split(" ||| ") for line in (tmp_path / "out").read_text().splitlines()] == rows
    assert "--prefix_file" in refuse(*command, f"--prefix_file={tmp_path / 'in'}")


def test_translate_reads_and_writes_files_with_prefixes_and_an_ensemble(
    trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "prefixes").write_text("Der Hund\n", "utf-8")
    result = run_process(
        "-m", "trainer.translate", f"--run_dir={trained}", "--checkpoint=last",
        f"--ensemble={trained}", f"--prefix_file={tmp_path / 'prefixes'}",
        "--input_file=/dev/stdin", f"--output_file={tmp_path / 'out'}", stdin="The dog sleeps.\n",
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    (line,) = (tmp_path / "out").read_text("utf-8").splitlines()
    assert line.startswith("Der Hund")


@pytest.mark.heavy
def test_an_interactive_session_answers_line_by_line_until_it_is_interrupted(
    trained: Path,
) -> None:
    sentences = [source for source, _ in generate_pairs("dev")[:2]]
    expected = succeed("trainer.translate", f"--run_dir={trained}", stdin="\n".join(sentences))
    session = start("-m", "trainer.translate", f"--run_dir={trained}", "--interactive")
    with session:  # closes the input, which ends the session
        assert session.stdin and session.stdout and session.stderr
        for sentence, translation in zip(sentences, expected.splitlines(), strict=True):
            print(sentence, file=session.stdin, flush=True)
            assert session.stdout.readline() == f"{translation}\n"
        session.send_signal(signal.SIGINT)
        assert session.wait(TIMEOUT) == 130
        assert (session.stdout.read(), session.stderr.read()) == ("", "")


def test_pages_show_the_run_and_what_it_attends_to(trained: Path, tmp_path: Path) -> None:
    run_dir = shutil.copytree(trained, tmp_path / "run")
    printed = succeed("trainer.report", f"--run_dir={run_dir}", "--samples=2")
    assert printed == f"written: {run_dir / 'report.html'}\n"
    report = Page((run_dir / "report.html").read_text("utf-8"))
    assert {"Loss", "Perplexity", "BLEU"} <= set(report.texts("b"))
    assert len(report.all("figure", "heads")) == 2
    page = tmp_path / "page.html"
    succeed(
        "trainer.attention", f"--run_dir={trained}", f"--output_file={page}",
        "--text=The dog sleeps.\n\nA <b> sleeps.", "--checkpoint=last",
    )  # fmt: skip
    attention = Page(page.read_text("utf-8"))
    assert [text.partition("→")[0] for text in attention.texts("p")[1:]] == [
        "The dog sleeps.",
        "A <b> sleeps.",
    ]
    assert report.loads() == attention.loads() == []
    text = "--text=The dog sleeps.\nThe cat sleeps."
    succeed("trainer.paper", f"--run_dir={trained}", f"--output_file={page}", text)
    assert len(Page(page.read_text("utf-8")).all("figure", "heads")) == 2
