"""From which dataset of a mixture the target tokens of the updates came."""

from collections.abc import Callable, Mapping

from absl import logging

from trainer.config import TrainingConfig
from trainer.data.mixture import name_datasets
from trainer.runs.metrics_writer import MetricsWriter
from trainer.training.callbacks import Logs, StepCallback
from trainer.training.update_figures import UpdateFigures

METRIC = "train/target_share/"  # then the name of a dataset


class ShareLogging(StepCallback):
    """Logs each dataset's share of the target tokens, every `log_every_steps` and at the end.

    Tokens are counted as the model saw them; skipped updates do not count.
    """

    def __init__(
        self, writer: MetricsWriter, config: TrainingConfig, dataset_of: Callable[[int], int]
    ) -> None:
        """Configures what is logged.

        Args:
            writer: where the shares go.
            config: with the datasets, and the updates between rows.
            dataset_of: returns the number, from 0, of the dataset of an update's batch.
        """
        super().__init__()
        self._writer = writer
        self._config = config
        self._dataset_of = dataset_of
        self._names = name_datasets(config.dataset_dirs)

    def on_train_begin(self, logs: Logs = None) -> None:
        self._since_logged = dict.fromkeys(self._names, 0.0)
        self._total = dict.fromkeys(self._names, 0.0)
        self.model.observers.append(self._observe)

    def on_train_end(self, logs: Logs = None) -> None:
        shares = _shares(self._total)
        text = ", ".join(f"{name} {share:.2%}" for name, share in shares.items())
        logging.info("target tokens of this session: %s", text)

    def _observe(self, step: int, figures: UpdateFigures) -> None:
        name = self._names[self._dataset_of(step)]
        tokens = figures.finite and figures.target_tokens
        self._since_logged[name] += tokens
        self._total[name] += tokens
        if step % self._config.log_every_steps == 0 or step == self._config.train_steps:
            shares = _shares(self._since_logged)
            self._writer.write(step, {f"{METRIC}{name}": share for name, share in shares.items()})
            self._since_logged = dict.fromkeys(self._names, 0.0)


def _shares(tokens: Mapping[str, float]) -> dict[str, float]:
    total = sum(tokens.values()) or 1.0
    return {name: count / total for name, count in tokens.items()}
