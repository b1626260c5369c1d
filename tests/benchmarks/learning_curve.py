"""BLEU after every 200 updates, ours beside OpenNMT-tf: the same data, subwords, model and recipe.

    python -m tests.benchmarks.learning_curve --work_dir=runs/learning_curve

Trains the Transformer-tiny of configs/multi30k_curve.flags, but pre-norm, on raw Multi30k
English–German with both systems, each by its own command; translates the test set with every
checkpoint and with the average of the last three; prints BLEU and writes JSON. When stopped, the
same command resumes: systems from their last checkpoint, without the scores that `--output` has.
Pre-norm, because post-norm OpenNMT-tf learns nothing by this recipe.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import sacrebleu

from pipeline.common.tables import format_table
from pipeline.dataset.schema import load_dataset
from pipeline.subwords.encoding import load_subwords
from tests.benchmarks import rivals
from tests.benchmarks.record import output_flag, write_record
from tests.benchmarks.rivals import opennmt_tf
from tests.benchmarks.workload import SIZES, Workload, as_flags, prepare, some_of

UPDATES = range(200, 1801, 200)
AVERAGED = 3
BEAM_SIZE = 5
# As many real tokens as in our 3,680 (130 updates per epoch, ours 129), incomplete last batches
# of every length included.
OPENNMT_TF_TOKENS_PER_BATCH = 4_200


class Contender(Protocol):
    """A system that trains and translates."""

    def train(self) -> None:
        """Trains or resumes, keeping every checkpoint of `UPDATES`."""

    def bleu(self, checkpoint: str) -> float:
        """Returns BLEU on the test set of a checkpoint: a number of updates, or "average"."""


class Ours:
    """Beamformer."""

    def __init__(self, workload: Workload, folder: Path):
        self._dataset, self._run = workload.dataset, folder / "run"

    def train(self) -> None:
        """See `Contender`."""
        command = ["trainer.task", "--flagfile=configs/multi30k_curve.flags", "--norm=pre"]
        places = {"dataset_dir": self._dataset, "run_dir": self._run}
        run([sys.executable, "-m", *command, *as_flags(places)])

    def bleu(self, checkpoint: str) -> float:
        """See `Contender`."""
        flags = {
            "run_dir": self._run,
            "checkpoint": "averaged" if checkpoint == "average" else checkpoint,
            "split": "test",
            "beam_size": BEAM_SIZE,
            "length_penalty_form": "power",
            "length_penalty": 1,
            "resamples": 0,
        }
        run([sys.executable, "-m", "trainer.evaluate", *as_flags(flags)])
        return float(json.loads((self._run / "evaluation-test.json").read_text())["sacrebleu"])


class OpenNMTTF:
    """OpenNMT-tf, whose length penalty is GNMT's, `((5 + n) / 6)^α`."""

    def __init__(self, workload: Workload, folder: Path):
        self._workload, self._folder = workload, folder
        size = SIZES["tiny"]
        self._command = opennmt_tf.configure(
            rivals.environment("opennmt_tf", workload.dataset.parent),
            workload,
            size,
            folder,
            dropout=0.3,
            params={
                "learning_rate": 2.53,
                "decay_params": {"model_dim": size.model_dim, "warmup_steps": 2_000},
                "beam_width": BEAM_SIZE,
                "length_penalty": 1,
            },
            train={
                "batch_size": OPENNMT_TF_TOKENS_PER_BATCH,
                "length_bucket_width": 2,
                "max_step": UPDATES[-1],
                "save_checkpoints_steps": UPDATES.step,
                "keep_checkpoint_max": len(UPDATES),
            },
            pre_norm=True,
        )

    def train(self) -> None:
        """See `Contender`."""
        run([*self._command, "train"])

    def bleu(self, checkpoint: str) -> float:
        """See `Contender`."""
        place = self._folder / "run" / f"ckpt-{checkpoint}"
        if checkpoint == "average":
            folder = self._folder / "average"
            options = {"output_dir": folder, "max_count": AVERAGED}
            run([*self._command, "average_checkpoints", *as_flags(options)])
            place = folder / f"ckpt-{UPDATES[-1]}"
        translations = self._folder / f"test.{checkpoint}"
        files = {
            "features_file": self._workload.pieces("test", "source"),
            "predictions_file": translations,
        }
        run([*self._command, "--checkpoint_path", str(place), "infer", *as_flags(files)])
        dataset = load_dataset(self._workload.dataset)
        subwords = load_subwords(dataset.path(dataset.vocabularies["target"].path))
        ids = {
            piece: id for id, piece in enumerate(subwords.pieces(range(subwords.vocabulary_size)))
        }
        lines = translations.read_text().removesuffix("\n").split("\n")
        texts = subwords.decode([[ids[piece] for piece in line.split()] for line in lines])
        return sacrebleu.corpus_bleu(texts, [self._workload.test_sentences("target")]).score


def main() -> None:
    """Trains and scores what is missing, prints the table, writes JSON."""
    contenders: dict[str, Callable[[Workload, Path], Contender]] = {
        "Beamformer": Ours,
        "OpenNMT-tf": OpenNMTTF,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work_dir", type=Path, required=True)
    output_flag(parser, "learning_curve")
    parser.add_argument("--contenders", type=some_of(contenders), default=list(contenders))
    arguments = parser.parse_args()
    arguments.work_dir.mkdir(parents=True, exist_ok=True)
    workload = prepare(arguments.work_dir)
    output: Path = arguments.output
    scores: dict[str, dict[str, float]] = (
        json.loads(output.read_text())["results"] if output.exists() else {}
    )
    checkpoints = [*map(str, UPDATES), "average"]
    for name in arguments.contenders:
        folder = arguments.work_dir / name
        folder.mkdir(exist_ok=True)
        contender = contenders[name](workload, folder)
        known = scores.setdefault(name, {})
        missing = [checkpoint for checkpoint in checkpoints if checkpoint not in known]
        if missing:
            contender.train()
            for checkpoint in missing:
                known[checkpoint] = contender.bleu(checkpoint)
                write_record("learning_curve", arguments, scores)
    rows = [
        [name, *(f"{known[checkpoint]:.2f}" for checkpoint in checkpoints)]
        for name, known in scores.items()
    ]
    print("\n".join(format_table([["updates", *checkpoints], *rows])))


def run(command: list[str]) -> None:
    """Runs a command, whose output goes to standard error, beside the table."""
    subprocess.run(command, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main()
