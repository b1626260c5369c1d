"""Evaluation on dev during training: scores, samples, the best weights, and early stopping."""

from collections.abc import Callable, Sequence
from pathlib import Path

from absl import logging

from model.attention_maps import AttentionMaps
from pipeline.dataset.schema import Dataset
from trainer.config import TrainingConfig
from trainer.data.raw_text import tag_sentences
from trainer.evaluation.result import MAIN_METRICS, main_metric
from trainer.evaluation.test_sets import (
    evaluate_bleu,
    evaluate_f1,
    evaluate_loss,
    sample_translations,
)
from trainer.inference.sentence_attention import attend_to_sentences, attention_image
from trainer.inference.translator import Translator
from trainer.runs.checkpoints import save_best
from trainer.runs.metrics_writer import MetricsWriter
from trainer.runs.run_directory import Run
from trainer.training.callbacks import Logs, StepCallback
from trainer.training.completion import count_since_best, should_stop_early

_SAMPLES = 5  # sentences


class DevEvaluation(StepCallback):
    """Evaluates on dev, keeps the weights with the best score, and stops training early.

    Must come before `Checkpointing`, so that every checkpoint includes its evaluation.
    """

    def __init__(
        self,
        evaluate: Callable[[], dict[str, float]],
        show: Callable[[int], None],
        writer: MetricsWriter,
        run_dir: Path,
        config: TrainingConfig,
        *,
        past_scores: Sequence[float],
    ) -> None:
        """Sets what an evaluation does.

        Args:
            evaluate: returns values by name, "bleu" or "f1" among them.
            show: writes samples of a step to TensorBoard.
            writer: where the scores go.
            run_dir: where the best weights are kept.
            config: when to evaluate, how many weights to keep, when to stop.
            past_scores: BLEU or F1 of the evaluations of earlier sessions, in order.
        """
        super().__init__()
        self._evaluate = evaluate
        self._show = show
        self._writer = writer
        self._run_dir = run_dir
        self._config = config
        self._scores = list(past_scores)

    def on_train_begin(self, logs: Logs = None) -> None:
        """Evaluates the weights of another run before the first update."""
        if self._config.init_from and self.step == 0:
            self.after_call()

    def after_call(self) -> None:
        """Evaluates every `eval_every_steps` updates."""
        config = self._config
        if not config.eval_every_steps or self.step % config.eval_every_steps:
            return
        values = self._evaluate()
        metric = main_metric(values)
        save_best(
            self._run_dir,
            self.model.transformer,
            step=self.step,
            bleu=values[metric],
            keep=config.average_checkpoints if config.average in ("best", "auto") else 1,
        )
        self._scores.append(values[metric])
        self._writer.write(self.step, {f"dev/{name}": value for name, value in values.items()})
        self._show(self.step)
        figures = "  ".join(f"{name} {value:.3f}" for name, value in values.items())
        logging.info("dev at step %d: %s", self.step, figures)
        if should_stop_early(self._scores, config):
            logging.info(
                "stopping early: %d evaluations without a better %s",
                count_since_best(self._scores),
                MAIN_METRICS[metric],
            )
            self.model.stop_training = True


def evaluate_dev(
    translator: Translator, dataset: Dataset, *, sentences: int = 0
) -> dict[str, float]:
    """Returns scores on dev: those of `evaluate_loss`, and `bleu` and `chrf`, or of trees `f1`.

    Args:
        translator: the model to evaluate.
        dataset: its dev split is used.
        sentences: sentences to translate, the first ones; 0 for all.
    """
    losses = evaluate_loss(translator.models, dataset, "dev")
    if dataset.has_trees:
        return {**losses, "f1": evaluate_f1(translator, dataset, "dev", sentences=sentences)}
    scores, _ = evaluate_bleu(translator, dataset, "dev", sentences=sentences)
    return {**losses, "bleu": scores.sacrebleu, "chrf": scores.chrf}


def show_samples(
    run: Run, translator: Translator, dataset: Dataset, writer: MetricsWriter, step: int
) -> None:
    """Writes some translations of dev to TensorBoard, and the attention of the median length."""
    samples = sample_translations(translator, dataset, "dev", sentences=_SAMPLES)
    rows = [(sample.source, sample.reference, sample.translation) for sample in samples]
    writer.write_table(step, "dev/samples", ("source", "reference", "translation"), rows)
    by_length = sorted((sample.source for sample in samples), key=len)
    median = tag_sentences(dataset.source_tag, [by_length[len(by_length) // 2]])
    (attended,) = attend_to_sentences(run, translator, median)
    for kind in AttentionMaps._fields:
        writer.write_image(step, f"attention/{kind}", attention_image(attended.maps, kind))
