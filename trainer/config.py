"""What a training run is made of, each hyper-parameter stated once (§5)."""

import dataclasses
from dataclasses import field
from typing import Any, Literal


def _field(default: Any, help_text: str, *, may_change: bool = False) -> Any:
    """A documented field; `may_change` says that a resumed run may give it another value."""
    return field(default=default, metadata={"help": help_text, "may_change": may_change})


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """Training; the defaults are the paper's base model (§5).

    Raises:
        ValueError: if a value is out of range.
    """

    dataset_dir: str = _field(
        "data/wmt14_en_de", "Dataset directory, made by pipeline.preprocess.", may_change=True
    )
    run_dir: str = _field(
        "runs/base",
        "Run directory: checkpoints, TensorBoard, metrics.jsonl. A stopped run continues.",
        may_change=True,
    )
    train_steps: int = _field(100_000, "Updates to train for in all (§5.2).", may_change=True)
    tokens_per_batch: int = _field(
        25_000,
        "Padded tokens of a global batch on each side: a batch of sentences of up to b tokens has "
        "tokens_per_batch / b pairs (§5.1).",
    )
    gradient_accumulation: int = _field(
        1,
        "Equal parts in which each device computes the gradients of its share of a batch, one "
        "after another; more need less memory, and the update stays the same, but that batches are "
        "rounded down to whole rows of every part.",
        may_change=True,
    )
    warmup_steps: int = _field(4_000, "Updates over which the learning rate rises (§5.3).")
    learning_rate_scale: float = _field(1.0, "Factor of the learning-rate schedule (§5.3 has 1).")
    adam_beta_1: float = _field(0.9, "Adam's β₁ (§5.3).")
    adam_beta_2: float = _field(0.98, "Adam's β₂ (§5.3).")
    adam_epsilon: float = _field(1e-9, "Adam's ε (§5.3).")
    ema_decay: float = _field(
        0.0,
        "Decay of a moving average of the weights, such as 0.9995, less at first; 0 to keep none.",
    )
    label_smoothing: float = _field(
        0.1, "Probability ε_ls taken from the right subword and spread (§5.4, Table 3 D)."
    )
    label_smoothing_over: Literal["all", "wrong"] = _field(
        "all",
        "Subwords that label smoothing spreads ε_ls over: all V of them, as in the paper's source "
        "(Szegedy et al. 2016, §7), or the V - 1 wrong ones (Tensor2Tensor).",
    )
    seed: int = _field(1, "Seed of initial weights, dropout and data order.")
    mixed_precision: Literal["none", "bfloat16", "float16"] = _field(
        "none",
        "Type of matrix products and activations; weights, loss, softmax and norms stay float32. "
        "float16 scales the loss, which bfloat16 does not need.",
    )
    jit_compile: bool = _field(
        False, "Compile the gradient step with XLA, one program per bucket.", may_change=True
    )
    nan_policy: Literal["stop", "skip"] = _field(
        "stop",
        "What an update does whose loss or gradients are not finite (it never changes a weight): "
        "stop the run, or skip up to max_skipped_steps.",
        may_change=True,
    )
    max_skipped_steps: int = _field(
        10, "Updates in a row that nan_policy=skip may skip.", may_change=True
    )
    log_every_steps: int = _field(
        100, "Updates between lines of metrics.jsonl and TensorBoard.", may_change=True
    )
    checkpoint_every_steps: int = _field(
        0, "Updates between checkpoints; 0 for by minutes only.", may_change=True
    )
    checkpoint_every_minutes: float = _field(
        10.0, "Minutes between checkpoints (§6.1); 0 for by steps only.", may_change=True
    )
    keep_checkpoints: int = _field(
        5, "Newest checkpoints that are kept; at least average_checkpoints.", may_change=True
    )
    average: Literal["last", "best", "ema", "none", "auto"] = _field(
        "last",
        "Weights that the run ends with: the mean of the last average_checkpoints (§6.1), or of "
        "as many best by dev BLEU; the moving average of ema_decay; none, the last checkpoint; or "
        "auto, whichever of these scores best on dev.",
        may_change=True,
    )
    average_checkpoints: int = _field(
        5, "Checkpoints averaged at the end (§6.1: 5 for base, 20 for big).", may_change=True
    )
    eval_every_steps: int = _field(
        0,
        "Updates between evaluations on dev (loss, perplexity, BLEU); 0 for at the end only.",
        may_change=True,
    )
    eval_sentences: int = _field(
        0, "Dev sentences translated for BLEU during training; 0 for all.", may_change=True
    )
    early_stopping_patience: int = _field(
        0,
        "Evaluations in a row without a better dev BLEU after which training ends; 0 for never.",
        may_change=True,
    )
    dry_run: bool = _field(
        False,
        "Build everything, train twice on the widest bucket, print parameters, memory, tokens/s "
        "and the time that training would take, and write nothing.",
        may_change=True,
    )

    def __post_init__(self) -> None:
        for name in (
            "train_steps",
            "tokens_per_batch",
            "gradient_accumulation",
            "warmup_steps",
            "max_skipped_steps",
            "log_every_steps",
        ):
            _require(getattr(self, name) >= 1, f"{name} must be at least 1", getattr(self, name))
        for name in ("learning_rate_scale", "adam_epsilon"):
            _require(getattr(self, name) > 0, f"{name} must be above 0", getattr(self, name))
        for name in ("adam_beta_1", "adam_beta_2", "ema_decay", "label_smoothing"):
            value = getattr(self, name)
            _require(0 <= value < 1, f"{name} must be at least 0 and below 1", value)
        _require(0 <= self.seed < 2**32, "seed must be at least 0 and below 2**32", self.seed)
        _require(
            self.label_smoothing_over in ("all", "wrong"),
            "label_smoothing_over must be 'all' or 'wrong'",
            self.label_smoothing_over,
        )
        for name in (
            "checkpoint_every_steps",
            "checkpoint_every_minutes",
            "eval_every_steps",
            "eval_sentences",
            "early_stopping_patience",
        ):
            _require(getattr(self, name) >= 0, f"{name} must be at least 0", getattr(self, name))
        _require(
            not self.early_stopping_patience or self.eval_every_steps > 0,
            "early_stopping_patience needs eval_every_steps above 0",
            self.eval_every_steps,
        )
        _require(
            self.average in ("last", "best", "ema", "none", "auto"),
            "average must be 'last', 'best', 'ema', 'none' or 'auto'",
            self.average,
        )
        _require(
            self.average != "best" or self.eval_every_steps > 0,
            "average=best needs eval_every_steps above 0",
            self.eval_every_steps,
        )
        _require(
            self.average != "ema" or self.ema_decay > 0,
            "average=ema needs ema_decay above 0",
            self.ema_decay,
        )
        _require(
            1 <= self.average_checkpoints <= self.keep_checkpoints,
            f"average_checkpoints must be 1 to keep_checkpoints ({self.keep_checkpoints})",
            self.average_checkpoints,
        )


@dataclasses.dataclass(frozen=True)
class TrainedModel:
    """The trained model to use.

    A search flag that is not given keeps the value that the run was trained with.
    """

    run_dir: str = _field("runs/base", "Run directory, made by trainer.task.")
    checkpoint: str = _field(
        "auto",
        "Which weights: averaged, best (by dev BLEU), last, a step, or auto: averaged if it "
        "exists, else last.",
    )

    @property
    def run_dirs(self) -> tuple[str, ...]:
        """The directories of all runs, this one first."""
        return (self.run_dir,)


@dataclasses.dataclass(frozen=True)
class TrainedModels(TrainedModel):
    """The trained model to use, or several as one.

    A search flag that is not given keeps the value that the first run was trained with.
    """

    ensemble: tuple[str, ...] = _field(
        (),
        "More run directories, of models with the same subwords, whose predictions are averaged "
        "with those of --run_dir; the same --checkpoint of each.",
    )

    @property
    def run_dirs(self) -> tuple[str, ...]:
        """The directories of all runs, that of --run_dir first."""
        return (self.run_dir, *self.ensemble)


def _require(condition: bool, expected: str, received: object) -> None:
    if not condition:
        raise ValueError(f"{expected}; received {received!r}")
