"""Evaluation on dev while a model learns: scores, samples, the best weights, and early stopping."""

from collections.abc import Callable, Sequence
from pathlib import Path

from absl import logging

from model.attention_maps import AttentionMaps
from pipeline.dataset.schema import Dataset
from trainer.config import TrainingConfig
from trainer.evaluation.test_sets import evaluate_bleu, evaluate_loss, sample_translations
from trainer.inference.sentence_attention import attend_to_sentences, attention_image
from trainer.inference.translator import Translator
from trainer.runs.checkpoints import save_best
from trainer.runs.metrics_log import MetricsWriter
from trainer.runs.run_directory import Run
from trainer.training.callbacks import StepCallback

_SAMPLES = 5


class DevEvaluation(StepCallback):
    """Evaluates on dev, keeps the weights of the best BLEU, and ends training that gains no more.

    Must come before `Checkpointing`, so that a checkpoint is never without its evaluation.
    """

    def __init__(
        self,
        evaluate: Callable[[], dict[str, float]],
        show: Callable[[int], None],
        writer: MetricsWriter,
        run_dir: Path,
        config: TrainingConfig,
        *,
        past_bleu: Sequence[float],
    ) -> None:
        """Writes what `evaluate` returns to `writer`, and has `show` add samples of that step.

        `past_bleu` is from earlier sessions.
        """
        super().__init__()
        self._evaluate = evaluate
        self._show = show
        self._writer = writer
        self._run_dir = run_dir
        self._config = config
        self._bleu = list(past_bleu)

    def after_update(self, logs: dict[str, float]) -> None:
        """Evaluates when it is time."""
        config = self._config
        if not config.eval_every_steps or self.step % config.eval_every_steps:
            return
        values = self._evaluate()
        save_best(
            self._run_dir,
            self.model.transformer,
            step=self.step,
            bleu=values["bleu"],
            keep=config.average_checkpoints if config.average in ("best", "auto") else 1,
        )
        self._bleu.append(values["bleu"])
        self._writer.write(self.step, {f"dev/{name}": value for name, value in values.items()})
        self._show(self.step)
        figures = "  ".join(f"{name} {value:.3f}" for name, value in values.items())
        logging.info("dev at step %d: %s", self.step, figures)
        if should_stop_early(self._bleu, config):
            logging.info(
                "ending: %d evaluations without a better BLEU", count_since_best(self._bleu)
            )
            self.model.stop_training = True


def evaluate_dev(
    run: Run, translator: Translator, dataset: Dataset, *, sentences: int = 0
) -> dict[str, float]:
    """Returns `nll` (nats per target token), `perplexity` and `bleu` (sacreBLEU) on dev."""
    losses = evaluate_loss(translator.models, dataset, "dev")
    scores, _ = evaluate_bleu(translator, dataset, "dev", sentences=sentences)
    return {**losses, "bleu": scores.sacrebleu}


def show_samples(
    run: Run, translator: Translator, dataset: Dataset, writer: MetricsWriter, step: int
) -> None:
    """Writes translations of some dev sentences to TensorBoard, and attention of a middling one."""
    samples = sample_translations(translator, dataset, "dev", sentences=_SAMPLES)
    writer.write_table(step, "dev/samples", samples)
    by_length = sorted((row["source"] for row in samples), key=len)
    (seen,) = attend_to_sentences(run, translator, [by_length[len(by_length) // 2]])
    for kind in AttentionMaps._fields:
        writer.write_image(step, f"attention/{kind}", attention_image(seen.maps, kind))


def should_stop_early(bleu: Sequence[float], config: TrainingConfig) -> bool:
    """Returns whether the evaluations so far, in order, are a reason to end training early."""
    patience = config.early_stopping_patience
    return patience > 0 and count_since_best(bleu) >= patience


def count_since_best(bleu: Sequence[float]) -> int:
    """Counts the evaluations after the best one: 1 in `[20.0, 31.5, 31.5]`, the first counts."""
    return len(bleu) - 1 - list(bleu).index(max(bleu)) if bleu else 0
