"""What happens between updates: metrics.

Callbacks count steps by the optimizer's own count of updates, which a checkpoint restores.
"""

import collections
import math
import time
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from pipeline.common.progress import Progress
from trainer.runs.metrics_writer import MetricsWriter
from trainer.training.train_step import BatchShape

Logs = dict[str, Any] | None


class StepCallback(keras.callbacks.Callback):
    """A callback with `self.step`, the number of updates made in this and earlier sessions."""

    def on_train_begin(self, logs: Logs = None) -> None:
        self.step = int(ops.convert_to_numpy(self.model.optimizer.iterations))

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self.step += 1
        self.after_update(logs or {})

    def after_update(self, logs: dict[str, float]) -> None:
        """Does the callback's work after update number `self.step`."""


class MetricsLogging(StepCallback):
    """Logs metrics every `every_steps` updates: to `metrics.jsonl`, TensorBoard and the terminal.

    Means over target tokens: `loss` (smoothed) and `nll` (plain), nats per token, and `perplexity`.
    Mean over updates: `gradient_norm`. Per second of update time: `tokens_per_second`, real tokens
    of both sides, and `flops_per_second`, by formula and including padding; `peak_share` is the
    fraction of the devices' peak. `padding_efficiency` is the fraction of positions that hold
    tokens. Latest values: `learning_rate`, `loss_scale`, and `programs`, which grows only while new
    batch shapes occur.
    """

    def __init__(
        self,
        writer: MetricsWriter,
        *,
        train_steps: int,
        every_steps: int,
        count_flops: Callable[[BatchShape], float],
        peak_flops: float,
    ) -> None:
        """Sets what is logged when.

        Args:
            writer: where the metrics go.
            train_steps: updates of the whole run.
            every_steps: updates between rows.
            count_flops: operations of an update, by the shape of its batch.
            peak_flops: operations per second that all devices together achieve.
        """
        super().__init__()
        self._writer = writer
        self._train_steps = train_steps
        self._every_steps = every_steps
        self._count_flops = count_flops
        self._peak_flops = peak_flops

    def on_train_begin(self, logs: Logs = None) -> None:
        super().on_train_begin(logs)
        self._progress = Progress("Train", unit="steps", total=self._train_steps, done=self.step)
        self._sums = collections.defaultdict[str, float](float)

    def on_train_end(self, logs: Logs = None) -> None:
        self._progress.close("done" if self.step >= self._train_steps else "stopped")

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        self._update_began = time.monotonic()

    def after_update(self, logs: dict[str, float]) -> None:
        """Adds up the update's metrics, and logs them when an interval ends."""
        rows, source_length, target_length = self.model.batch_shape
        if logs["finite"]:
            tokens = logs["target_tokens"]
            self._add(
                updates=1,
                gradient_norm=logs["gradient_norm"],
                loss=logs["loss"] * tokens,
                nll=logs["nll"] * tokens,
                target_tokens=tokens,
                tokens=logs["source_tokens"] + tokens,
                positions=rows * (source_length + target_length),
            )
        # Time of updates only: evaluation and saving happen between them.
        seconds = time.monotonic() - self._update_began
        self._add(flops=self._count_flops(self.model.batch_shape), seconds=seconds)
        self._progress.advance()
        if self.step % self._every_steps == 0 or self.step == self._train_steps:
            self._report(logs["loss_scale"])
            self._sums.clear()

    def _add(self, **values: float) -> None:
        for name, value in values.items():
            self._sums[name] += value

    def _report(self, loss_scale: float) -> None:
        nll = self._ratio("nll", "target_tokens")
        speed = self._ratio("flops", "seconds")
        values = {
            "train/loss": self._ratio("loss", "target_tokens"),
            "train/nll": nll,
            "train/perplexity": math.exp(min(nll, 700.0)),
            "train/learning_rate": float(ops.convert_to_numpy(self.model.optimizer.learning_rate)),
            "train/gradient_norm": self._ratio("gradient_norm", "updates"),
            "train/tokens_per_second": self._ratio("tokens", "seconds"),
            "train/padding_efficiency": self._ratio("tokens", "positions"),
            "train/flops_per_second": speed,
            "train/peak_share": speed / self._peak_flops,
            "train/programs": self.model.programs,
            "train/loss_scale": loss_scale,
        }
        self._writer.write(self.step, values)
        self._progress.report(
            f"loss {values['train/loss']:.3f}  ppl {values['train/perplexity']:.2f}  "
            f"{values['train/tokens_per_second']:,.0f} tokens/s"
        )

    def _ratio(self, part: str, whole: str) -> float:
        """Divides sums; NaN if all updates of the interval were skipped."""
        return self._sums[part] / (self._sums[whole] or math.nan)
