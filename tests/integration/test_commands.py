"""The whole way, small: raw text → TFRecords → training → BLEU → SavedModel, by the commands."""

import json
import random
import re
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from pipeline.corpora.builtin import generate_pairs
from tests.helpers.commands import REPOSITORY, refuse, run, start, succeed
from tests.helpers.page_parsing import Page
from tests.helpers.preprocessing import build, configure
from trainer.bulk_translation.blocks import Model, list_blocks

# With --train_steps and the directories, a model that learns something in seconds.
TINY = """
    --num_layers=1 --model_dim=32 --feed_forward_dim=64 --num_heads=2 --dropout=0.1
    --tokens_per_batch=512 --gradient_accumulation=2 --warmup_steps=20
    --checkpoint_every_steps=4 --keep_checkpoints=2 --average_checkpoints=2
    --log_every_steps=1 --eval_every_steps=6 --beam_size=2 --extra_length=2
""".split()  # noqa: SIM905 (a command line is read more easily than a list)
STEPS = 12

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


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset directory preprocessed from two text files with a small vocabulary."""
    folder = tmp_path_factory.mktemp("text")
    pairs = generate_pairs("train")[:1200]
    for side, name in enumerate(("en", "de")):
        (folder / name).write_text("".join(pair[side] + "\n" for pair in pairs), "utf-8")
    succeed(
        "-m", "pipeline.preprocess", f"--output_dir={folder / 'data'}",
        f"--source_files={folder / 'en'}", f"--target_files={folder / 'de'}",
        "--vocabulary_size=500", "--holdout_pairs=12",
    )  # fmt: skip
    return folder / "data"


def train(dataset: Path, run_dir: Path, *more: str) -> list[str]:
    """The training command of these tests."""
    return [
        "-m", "trainer.task", f"--dataset_dir={dataset}", f"--run_dir={run_dir}",
        f"--train_steps={STEPS}", *TINY, *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def trained(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished, evaluated and exported run."""
    run_dir = tmp_path_factory.mktemp("runs") / "tiny"
    succeed(*train(dataset, run_dir))
    succeed("-m", "trainer.evaluate", f"--run_dir={run_dir}", "--split=test")
    succeed("-m", "trainer.export", f"--run_dir={run_dir}", f"--output_dir={run_dir}/saved_model")
    return run_dir


def weights(run_dir: Path) -> dict[str, np.ndarray]:
    """The weights, optimizer and random state of the last checkpoint."""
    last = max((run_dir / "checkpoints").iterdir())
    arrays = {}
    for name in ("weights", "state"):
        with np.load(last / f"{name}.npz") as file:
            arrays.update({f"{name}/{key}": file[key] for key in file.files})
    return arrays


def figures(run_dir: Path) -> list[dict[str, float]]:
    """The updates in metrics.jsonl, but for what depends on time."""
    rows = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
    timed = {"time", "train/tokens_per_second", "train/flops_per_second", "train/peak_share"}
    updates = [row for row in rows if "train/loss" in row]
    return [{name: row[name] for name in row if name not in timed} for row in updates]


def test_training_learns_and_leaves_what_the_readme_says(trained: Path) -> None:
    rows = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    losses = [row["train/loss"] for row in rows if "train/loss" in row]
    assert len(losses) == STEPS
    assert losses[-1] < losses[0]
    assert [row["step"] for row in rows if "dev/bleu" in row] == [6, 12]
    assert {row["train/programs"] for row in rows if "train/programs" in row} == {1}
    assert len(list((trained / "best").iterdir())) == 1
    result = json.loads((trained / "train.json").read_text())
    assert result["steps"] == STEPS
    assert result["averaged_steps"] == [8, 12]
    assert any((trained / "tensorboard").iterdir())


def test_evaluation_writes_scores_with_their_signatures_and_the_translations(
    trained: Path,
) -> None:
    result = json.loads((trained / "evaluation-test.json").read_text())
    assert result["sentences"] == 12
    assert "tok:13a" in result["signature"]
    assert 0 <= result["sacrebleu"] <= 100
    assert result["metrics"].keys() == {"bleu", "chrf", "ter", "paper_bleu"}
    assert sum(each["sentences"] for each in result["bleu_by_length"]) == 12
    rows = (trained / "evaluation-test.jsonl").read_text().splitlines()
    assert len(rows) == 12
    assert json.loads(rows[0]).keys() == {"source", "reference", "translation", "score"}


def test_several_test_sets_are_compared_with_a_baseline_and_one_model_with_its_ensemble(
    trained: Path, tmp_path: Path
) -> None:
    run_dir, evaluate = tmp_path / "run", ("-m", "trainer.evaluate", "--resamples=20")
    shutil.copytree(trained, run_dir)
    assert "--split=dev" in refuse(
        *evaluate, f"--run_dir={run_dir}", "--split=dev", f"--baseline_run_dir={trained}"
    )
    succeed(*evaluate, f"--run_dir={trained}", "--split=dev,test")
    succeed(
        *evaluate, f"--run_dir={run_dir}", "--split=dev,test", f"--baseline_run_dir={trained}",
        f"--ensemble={trained}", "--tokenize=char",
    )  # fmt: skip
    for split in ("dev", "test"):
        baseline, result = (
            json.loads((each / f"evaluation-{split}.json").read_text())
            for each in (trained, run_dir)
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
    scored = succeed("-m", "trainer.score", f"--run_dir={trained}", *files).splitlines()
    assert len(scored) == len(rows)
    for line, row in zip(map(json.loads, scored), rows, strict=True):
        assert line["log_prob"] == pytest.approx(sum(line["token_log_probs"]), rel=1e-5)
        assert "".join(line["tokens"][:-1]).replace("\u2581", " ").strip() == row["translation"]
        assert all(each < 0 for each in line["token_log_probs"])
        penalty = ((5 + len(line["tokens"])) / 6) ** 0.6
        assert line["score"] == pytest.approx(line["log_prob"] / penalty, rel=1e-5)


def test_saved_model_translates_without_this_repository_as_translate_does(
    trained: Path, dataset: Path, tmp_path: Path
) -> None:
    text = (dataset / "test" / "source.txt").read_text("utf-8") + "\n"  # and an empty line
    model = shutil.copytree(trained / "saved_model", tmp_path / "elsewhere")
    alone = json.loads(succeed("-c", LOAD_ALONE, model, cwd=tmp_path, stdin=text))
    by_run = succeed("-m", "trainer.translate", f"--run_dir={trained}", stdin=text)
    by_model = succeed("-m", "trainer.translate", f"--saved_model={model}", stdin=text)
    assert by_run == by_model
    assert by_run.splitlines() == alone["translation"]
    assert len(alone["translation"]) == 13
    assert all(score <= 0 for score in alone["score"])


def test_workers_finish_a_translation_that_was_begun(trained: Path, tmp_path: Path) -> None:
    model = str(trained / "saved_model")
    lines = [source for source, _ in generate_pairs("dev")[:7]]
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    first, *_ = list_blocks([str(tmp_path / "in")], 2, Model(model))
    (tmp_path / "out.parts").mkdir()
    (tmp_path / "out.parts" / first.name).write_text("done\nbefore\n")
    result = run(
        "-m", "trainer.translate", f"--saved_model={model}", f"--input_file={tmp_path / 'in'}",
        f"--output_file={tmp_path / 'out'}", "--block_lines=2", "--runner=DirectRunner",
        "--num_workers=2",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "1 of 4 blocks were finished before" in result.stderr
    assert "port.cc" not in result.stderr  # TensorFlow's notices, of the workers too
    rest = succeed("-m", "trainer.translate", f"--saved_model={model}", stdin="\n".join(lines[2:]))
    assert (tmp_path / "out").read_text("utf-8") == "done\nbefore\n" + rest
    assert not (tmp_path / "out.parts").exists()


def test_evaluating_on_other_subwords_is_refused(trained: Path, tmp_path: Path) -> None:
    other = build(configure(tmp_path, "other")).directory
    line = refuse("-m", "trainer.evaluate", f"--run_dir={trained}", f"--dataset_dir={other}")
    assert f"--subwords_model={trained}/subwords.model" in line


def test_a_refused_translation_leaves_nothing_behind(tmp_path: Path) -> None:
    refuse(
        "-m", "trainer.translate", "--saved_model=none", f"--input_file={tmp_path / 'none'}",
        f"--output_file={tmp_path / 'out'}",
    )  # fmt: skip
    (tmp_path / "in").touch()
    refuse(
        "-m", "trainer.translate", "--saved_model=none", f"--input_file={tmp_path / 'in'}",
        f"--output_file={tmp_path / 'out'}", "--runner=Nope",
    )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_folder_that_cannot_be_written_is_refused_before_exporting(
    trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    line = refuse(
        "-m", "trainer.export", f"--run_dir={trained}", f"--output_dir={tmp_path / 'file' / '1'}"
    )
    assert str(tmp_path / "file") in line


def test_translate_gives_the_n_best(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("The dog sleeps.\n\nThe dog barks.\n", "utf-8")
    command = (
        "-m", "trainer.translate", f"--run_dir={trained}", "--n_best=2", "--block_lines=2",
        f"--input_file={tmp_path / 'in'}",
    )  # fmt: skip
    rows = [line.split(" ||| ") for line in succeed(*command).splitlines()]
    assert [number for number, _, _ in rows] == ["0", "0", "1", "2", "2"]  # a blank one has one
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
    translated = succeed(
        "-m", "trainer.translate", f"--run_dir={trained}", "--checkpoint=last",
        f"--ensemble={trained}", f"--prefix_file={tmp_path / 'prefixes'}",
        "--input_file=/dev/stdin", f"--output_file={tmp_path / 'out'}", stdin="The dog sleeps.\n",
    )  # fmt: skip
    assert translated == ""
    (line,) = (tmp_path / "out").read_text("utf-8").splitlines()
    assert line.startswith("Der Hund")


def test_pages_show_the_run_and_what_it_attends_to(trained: Path, tmp_path: Path) -> None:
    succeed("-m", "trainer.report", f"--run_dir={trained}", "--samples=2")
    report = Page((trained / "report.html").read_text("utf-8"))
    assert {"Loss", "Perplexity", "BLEU"} <= set(report.texts("b"))
    assert len(report.all("figure", "heads")) == 2
    page = tmp_path / "page.html"
    succeed(
        "-m", "trainer.attention", f"--run_dir={trained}", f"--output_file={page}",
        "--text=The dog sleeps.\n\nA <b> sleeps.", "--checkpoint=last",
    )  # fmt: skip
    attention = Page(page.read_text("utf-8"))
    assert [text.partition("→")[0] for text in attention.texts("p")[1:]] == [
        "The dog sleeps.",
        "A <b> sleeps.",
    ]
    for each in (report, attention):
        assert each.loads() == []


def test_a_run_killed_at_random_steps_resumes_to_the_same_bits(
    trained: Path, dataset: Path, tmp_path: Path
) -> None:
    """Weights, optimizer, dropout's random state; hence also data, schedule and accumulation.

    Nor does it matter that the uninterrupted run evaluates on dev meanwhile, and this one does not.
    """
    run_dir = tmp_path / "run"
    command = train(dataset, run_dir, "--eval_every_steps=0")
    metrics = run_dir / "metrics.jsonl"
    for step in sorted(random.Random(5).sample(range(1, STEPS), 2)):
        process = start(*command)
        while not (metrics.exists() and f'{{"step": {step},' in metrics.read_text()):
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert not (run_dir / "train.json").exists()
    succeed(*command)
    resumed, uninterrupted = weights(run_dir), weights(trained)
    assert resumed.keys() == uninterrupted.keys()
    for name in uninterrupted:
        np.testing.assert_array_equal(resumed[name], uninterrupted[name], err_msg=name)
    for row, expected in zip(figures(run_dir), figures(trained), strict=True):
        assert row == expected


def test_a_terminated_run_saves_a_checkpoint_and_exits_0(dataset: Path, tmp_path: Path) -> None:
    long = ("--train_steps=100000", "--checkpoint_every_steps=0", "--eval_every_steps=0")
    process = start(*train(dataset, tmp_path / "run", *long))
    metrics = tmp_path / "run" / "metrics.jsonl"
    while not (metrics.exists() and metrics.read_text()):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert "SIGTERM" in stderr
    assert "same command again" in stderr
    (checkpoint,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert json.loads((checkpoint / "checkpoint.json").read_text())["interim"]


def test_a_dry_run_tells_what_training_needs_and_writes_nothing(
    dataset: Path, tmp_path: Path
) -> None:
    text = succeed(*train(dataset, tmp_path / "run", "--dry_run"))
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert lines.keys() == {"parameters", "batch", "memory", "speed", "training"}
    assert int(lines["parameters"].replace(",", "")) > 500 * 32
    assert "in 2 part(s); the widest of" in lines["batch"]
    assert re.match(r"[0-9.]+ GiB", lines["memory"])
    assert re.match(r"[0-9,]+ tokens/s", lines["speed"])
    assert lines["training"].startswith(f"{STEPS} updates")
    assert not (tmp_path / "run").exists()


def test_a_finished_run_is_left_alone(trained: Path, dataset: Path) -> None:
    before = (trained / "train.json").stat().st_mtime_ns
    result = run(*train(dataset, trained))
    assert result.returncode == 0
    assert "is finished" in result.stderr
    assert (trained / "train.json").stat().st_mtime_ns == before


def test_base_flags_without_data_name_the_command_that_makes_it(tmp_path: Path) -> None:
    flags = REPOSITORY / "configs" / "base.flags"
    line = refuse("-m", "trainer.task", f"--flagfile={flags}", f"--dataset_dir={tmp_path / 'no'}")
    assert f"python -m pipeline.preprocess --output_dir={tmp_path / 'no'}" in line


def test_an_incomplete_dataset_is_refused(dataset: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(dataset, tmp_path / "copy")
    (copy / "COMPLETED").unlink()
    assert "COMPLETED" in refuse(*train(copy, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_run_of_another_configuration_is_refused(trained: Path, dataset: Path) -> None:
    line = refuse(*train(dataset, trained, "--model_dim=48"))
    assert "model_dim was 32, now 48" in line
    assert "--run_dir" in line


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["trainer.task", "--train_stepz=3"], "--train_steps"),
        (
            ["trainer.task", "--dropout=1.5"],
            "received --dropout=1.5: expected at least 0 and below 1",
        ),
        (["trainer.task", "--flagfile=configs/none.flags"], "configs/none.flags"),
        (["trainer.evaluate", "--run_dir=runs/none"], "no run in runs/none"),
        (["trainer.evaluate", "--resamples=1"], "--resamples=1: expected 0 or at least 2"),
        (["trainer.task", "--top_k=5"], "expected a temperature above 0, for sampling"),
        (["trainer.score", "--run_dir=runs/none", "--source_file=x"], "--target_file is required"),
        (["trainer.export", "--run_dir=runs/none", "--output_dir=x"], "no run in runs/none"),
        (["trainer.export", "--run_dir=runs/none"], "--output_dir is required"),
        (["trainer.translate", "--saved_model=none"], "no SavedModel in none"),
        (["trainer.translate", "--saved_model=none", "--beam_size=4"], "and --beam_size"),
        (["trainer.report", "--samples=0"], "received --samples=0: expected at least 1"),
        (["trainer.attention", "--text= "], "expected a sentence"),
        (["trainer.translate", "--saved_model=none", "--input_file=none.txt"], "none.txt"),
        (["trainer.translate", "--saved_model=none", "--runner=Any"], "expected --output_file"),
        (["trainer.translate", "--saved_model=none", "--num_workers=2"], "expected --runner"),
        (["trainer.translate", "--saved_model=none", "--output_file=tests"], "tests is a folder"),
        (["trainer.translate", "--saved_model=none", "--output_file=setup.py"], "setup.py exists"),
        (["trainer.translate", "--saved_model=none", "--worker_zone=a"], "unknown flag"),
        (["trainer.export", "--output_dir=gs://b/1"], "expected a folder of a file system"),
        (["trainer.export", "--output_dir=x", "--weights=int8"], "--format=ctranslate2 has int8"),
        (
            ["trainer.export", "--output_dir=x", "--format=ctranslate2", "--ensemble=y"],
            "received --ensemble and --format=ctranslate2",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_it(arguments: list[str], expected: str) -> None:
    assert expected in refuse("-m", *arguments)


@pytest.mark.parametrize(
    "name", ["task", "evaluate", "score", "translate", "export", "report", "attention"]
)
def test_help_teaches_every_flag(name: str) -> None:
    text = succeed("-m", f"trainer.{name}", "--help")
    assert f"Usage: python -m trainer.{name}" in text
    assert "--beam_size=N" in text
    assert "(default: 4)" in text
