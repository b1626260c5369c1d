"""Speed, size and BLEU of the recipes' German models: ours in process, and in CTranslate2."""

import dataclasses
import functools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sacrebleu

from pipeline.dataset.schema import read_lines
from tests.benchmarks.measure import alternate
from tests.benchmarks.translation_times import Engine, seconds
from trainer.runtime.startup import start_tensorflow

if TYPE_CHECKING:
    from tests.benchmarks.engines import Setup

RUNS = ("de", "deep_encoder", "student", "distillation")
WEIGHTS = ("float32", "int8")  # of CTranslate2
_BEAM_SIZE = 4


@dataclasses.dataclass(frozen=True)
class Contender:
    """A run's model in an engine."""

    run: str
    name: str
    engine: Engine
    mebibytes: float  # of the file with its weights

    def __str__(self) -> str:
        return f"{self.run}, {self.name}"


def measure(work_dir: Path, rounds: int) -> dict[str, Any]:
    """Translates Multi30k's test set with every run that there is, in turn.

    Returns:
        for each run and engine: BLEU, MiB of the weights, and the seconds of every round.
    """
    runs = [work_dir / "runs/recipes" / name for name in RUNS]
    runs = [run_dir for run_dir in runs if (run_dir / "train.json").exists()]
    test_set = work_dir / "data/recipes/de/test"
    sentences = read_lines(test_set / "source.txt")
    folder = work_dir / "engines"
    shutil.rmtree(folder, ignore_errors=True)
    start_tensorflow(for_search=True)  # as `trainer.translate` does
    contenders = [
        contender for run_dir in runs for contender in _load(run_dir, folder / run_dir.name)
    ]
    bleu = [  # these translations also trace the graphs
        _bleu(contender.engine(sentences), read_lines(test_set / "target.txt"))
        for contender in contenders
    ]
    times = alternate(
        {str(c): functools.partial(seconds, c.engine, sentences) for c in contenders}, rounds
    )
    speeds: dict[str, dict[str, Any]] = {}
    for contender, score in zip(contenders, bleu, strict=True):
        figures = {"bleu": score, "mib": contender.mebibytes, "seconds": times[str(contender)]}
        speeds.setdefault(contender.run, {})[contender.name] = figures
    return {"sentences": len(sentences), "beam_size": _BEAM_SIZE, "speeds": speeds}


def _load(run_dir: Path, folder: Path) -> Iterator[Contender]:
    """Yields all ways to translate with a run."""
    from tests.benchmarks import engines

    setup: Setup = engines.trained(run_dir)
    ours = engines.in_process(setup, _BEAM_SIZE)
    yield Contender(run_dir.name, "ours", ours, _mebibytes(run_dir / "averaged" / "weights.npz"))
    for kind in WEIGHTS:
        engine = engines.ctranslate2(setup, _BEAM_SIZE, folder, kind)
        size = _mebibytes(next(folder.glob(f"*-{kind}/model.bin")))
        yield Contender(run_dir.name, f"CTranslate2, {kind}", engine, size)


def _mebibytes(path: Path) -> float:
    return path.stat().st_size / 2**20


def _bleu(translations: Any, references: list[str]) -> float:
    texts = [getattr(translation, "text", translation) for translation in translations]
    return float(sacrebleu.corpus_bleu(texts, [references]).score)
