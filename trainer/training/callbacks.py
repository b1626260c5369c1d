"""What happens between updates: metrics.

Keras calls a callback after each call of the compiled function, which makes one update or several
(`call_plan`). Figures of updates arrive later, when they are read (`update_loop`).
"""

import collections
import math
from collections.abc import Callable
from typing import Any

import keras

from pipeline.common.progress import Progress
from trainer.config import TrainingConfig
from trainer.data.buckets import BatchShape
from trainer.runs.metrics_writer import MetricsWriter
from trainer.training.update_figures import UpdateFigures

Logs = dict[str, Any] | None


class StepCallback(keras.callbacks.Callback):
    """A callback that acts by `self.step`, the number of updates in this and earlier sessions."""

    @property
    def step(self) -> int:
        """Updates made so far."""
        return self.model.step

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self.after_call()

    def after_call(self) -> None:
        """Does the callback's work after the updates of a call, the last of number `self.step`."""


class MetricsLogging(StepCallback):
    """Logs metrics every `log_every_steps`: to `metrics.jsonl`, TensorBoard and the terminal.

    Means over target tokens: `loss` (smoothed) and `nll` (plain), nats per token, and `perplexity`.
    Mean over updates: `gradient_norm`. Per second of update time: `tokens_per_second`, real tokens
    of both sides, and `flops_per_second`, by formula and including padding; `peak_share` is the
    fraction of the devices' peak. `padding_efficiency` is the fraction of positions that hold
    tokens. Latest values: `learning_rate` and `loss_scale` of the update, and `programs`, traced or
    with XLA compiled, one for each shape of batches.
    """

    def __init__(
        self,
        writer: MetricsWriter,
        config: TrainingConfig,
        shape_of: Callable[[int], BatchShape],
        *,
        count_flops: Callable[[BatchShape], float],
        peak_flops: float,
    ) -> None:
        """Configures what is logged, and when.

        Args:
            writer: where the metrics go.
            config: with the updates of the whole run and between rows.
            shape_of: returns the shape of an update's global batch.
            count_flops: operations of an update, by the shape of its batch.
            peak_flops: operations per second that all devices together achieve.
        """
        super().__init__()
        self._writer = writer
        self._config = config
        self._shape_of = shape_of
        self._count_flops = count_flops
        self._peak_flops = peak_flops
        self._shapes: set[BatchShape] = set()

    def on_train_begin(self, logs: Logs = None) -> None:
        total = self._config.train_steps
        self._progress = Progress("Train", unit="steps", total=total, done=self.step)
        self._sums = collections.defaultdict[str, float](float)
        self._seconds_logged = self.model.update_seconds
        self.model.observers.append(self._observe)

    def on_train_end(self, logs: Logs = None) -> None:
        self._progress.close("done" if self.step >= self._config.train_steps else "stopped")

    def _observe(self, step: int, figures: UpdateFigures) -> None:
        """Adds up the figures of an update, and logs them when an interval ends."""
        rows, source_length, target_length = shape = self._shape_of(step)
        if figures.finite:
            tokens = figures.target_tokens
            self._add(
                updates=1,
                gradient_norm=figures.gradient_norm,
                loss=figures.loss * tokens,
                nll=figures.nll * tokens,
                target_tokens=tokens,
                tokens=figures.source_tokens + tokens,
                positions=rows * (source_length + target_length),
            )
        self._add(flops=self._count_flops(shape))
        self._shapes.add(shape)
        self._progress.advance()
        if step % self._config.log_every_steps == 0 or step == self._config.train_steps:
            self._report(step, figures)

    def _add(self, **values: float) -> None:
        for name, value in values.items():
            self._sums[name] += value

    def _report(self, step: int, latest: UpdateFigures) -> None:
        self._add(seconds=self.model.update_seconds - self._seconds_logged)
        nll = self._ratio("nll", "target_tokens")
        speed = self._ratio("flops", "seconds")
        values = {
            "train/loss": self._ratio("loss", "target_tokens"),
            "train/nll": nll,
            "train/perplexity": math.exp(min(nll, 700.0)),
            "train/learning_rate": latest.learning_rate,
            "train/gradient_norm": self._ratio("gradient_norm", "updates"),
            "train/tokens_per_second": self._ratio("tokens", "seconds"),
            "train/padding_efficiency": self._ratio("tokens", "positions"),
            "train/flops_per_second": speed,
            "train/peak_share": speed / self._peak_flops,
            "train/programs": len(self._shapes) if self.model.xla else self.model.traces,
            "train/loss_scale": latest.loss_scale,
        }
        self._writer.write(step, values)
        self._progress.report(
            f"loss {values['train/loss']:.3f}  ppl {values['train/perplexity']:.2f}  "
            f"{values['train/tokens_per_second']:,.0f} tokens/s"
        )
        self._sums.clear()
        self._seconds_logged = self.model.update_seconds

    def _ratio(self, part: str, whole: str) -> float:
        """Divides sums; NaN if all updates of the interval were skipped."""
        return self._sums[part] / (self._sums[whole] or math.nan)
