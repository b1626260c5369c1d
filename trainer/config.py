"""Configuration of training: each hyper-parameter stated once (§5)."""

import dataclasses
from typing import Literal

from pipeline.common import storage
from pipeline.common.settings import as_flags, require, require_choice, require_range, setting
from trainer.mixture_config import MixtureConfig

# Parts of a model that can be frozen. The embedding is also the map to logits (§3.4).
PARTS = ("embedding", "encoder", "decoder")


@dataclasses.dataclass(frozen=True)
class TrainingConfig(MixtureConfig):
    """Training; the defaults are the paper's base model (§5).

    Raises:
        ValueError: if a value is out of range.
    """

    run_dir: str = setting(
        "runs/base",
        "Run directory: checkpoints, TensorBoard, metrics.jsonl. An interrupted run continues.",
        may_change=True,
    )
    init_from: str = setting(
        "",
        "Run directory whose weights a new run starts from. Architecture and search settings are "
        "that run's, unless given; optimizer and learning-rate schedule start afresh.",
    )
    init_checkpoint: str = setting(
        "auto",
        "Weights of init_from: averaged, best (by dev BLEU), last, a step, or auto: averaged if it "
        "exists, else last.",
    )
    freeze: tuple[str, ...] = setting(
        (),
        "Parts that keep the weights of init_from: embedding (also the map to logits), encoder, "
        "decoder.",
    )
    train_steps: int = setting(100_000, "Total number of training updates (§5.2).", may_change=True)
    tokens_per_batch: int = setting(
        25_000,
        "Positions of a global batch on each side, as the mean of both, padding included: with s "
        "source and t target positions to a row, 2 · tokens_per_batch / (s + t) rows (§5.1).",
    )
    gradient_accumulation: int = setting(
        1,
        "Equal parts of each device's share of a batch whose gradients are computed in sequence "
        "and summed; more parts need less memory. The update stays the same, except that batches "
        "are rounded down to whole rows of every part.",
        may_change=True,
    )
    warmup_steps: int = setting(4_000, "Updates over which the learning rate rises (§5.3).")
    learning_rate_scale: float = setting(1.0, "Factor of the learning-rate schedule (1 in §5.3).")
    adam_beta_1: float = setting(0.9, "Adam's β₁ (§5.3).")
    adam_beta_2: float = setting(0.98, "Adam's β₂ (§5.3).")
    adam_epsilon: float = setting(1e-9, "Adam's ε (§5.3).")
    ema_decay: float = setting(
        0.0,
        "Decay of an exponential moving average of the weights, such as 0.9995, smaller in the "
        "first updates; 0 for none.",
    )
    label_smoothing: float = setting(
        0.1, "Probability ε_ls moved from the correct subword to the others (§5.4, Table 3 D)."
    )
    label_smoothing_over: Literal["all", "wrong"] = setting(
        "all",
        "Subwords that share ε_ls: all V, as in the paper's source (Szegedy et al. 2016, "
        "§7), or the V - 1 wrong ones (Tensor2Tensor).",
    )
    seed: int = setting(1, "Seed of initial weights, dropout and data order.")
    device: Literal["auto", "cpu"] = setting(
        "auto",
        "Where to train: auto is all GPUs that CUDA_VISIBLE_DEVICES allows, or the CPU of a "
        "machine without any; cpu leaves GPUs unused.",
        may_change=True,
    )
    mixed_precision: Literal["none", "bfloat16", "float16"] = setting(
        "none",
        "Type of matrix products and activations; weights, loss, softmax and norms stay float32. "
        "float16 scales the loss, which bfloat16 does not need.",
    )
    gradient_reduction: Literal["float32", "float16"] = setting(
        "float32",
        "Type in which gradients are summed over devices. float16 halves what passes between "
        "them, which takes most of an update on GPUs connected by PCIe alone.",
        may_change=True,
    )
    jit_compile: bool | None = setting(
        None,
        "Compile the train step with XLA, one program per bucket; by default on GPUs only. "
        "Without XLA, TensorFlow compares and adds int32 tensors, hence token ids, on the host, "
        "which for that waits for the GPU in every update.",
        may_change=True,
    )
    steps_per_call: int = setting(
        0,
        "Updates per call of the compiled training function, fewer before a step at which "
        "something is logged, evaluated or saved. Signals and checkpoint_every_minutes wait for "
        "the end of a call. 0 for 10 on GPUs, where the host prepares work ahead, and 1 on CPUs.",
        may_change=True,
    )
    deterministic: bool = setting(
        False,
        "Ask TensorFlow for deterministic operations, so that a run on the same GPUs reaches the "
        "same bits again, more slowly; on one CPU device it does so anyway.",
        may_change=True,
    )
    nan_policy: Literal["stop", "skip"] = setting(
        "stop",
        "What happens if the loss or a gradient of an update is not finite (the update never "
        "changes a weight): stop the run, or skip up to max_skipped_steps.",
        may_change=True,
    )
    max_skipped_steps: int = setting(
        10, "Consecutive updates that nan_policy=skip may skip.", may_change=True
    )
    log_every_steps: int = setting(
        100, "Updates between lines of metrics.jsonl and TensorBoard.", may_change=True
    )
    checkpoint_every_steps: int = setting(
        1_400,
        "Updates between checkpoints; 0 to save by time only. The paper's 10 minutes (§6.1) were "
        "about 1,400 updates of base and 600 of big.",
        may_change=True,
    )
    checkpoint_every_minutes: float = setting(
        10.0,
        "Minutes without a checkpoint after which one is saved; 0 to save by updates only. Between "
        "those of checkpoint_every_steps it is for resuming only: never averaged, and replaced by "
        "the next.",
        may_change=True,
    )
    keep_checkpoints: int = setting(
        5, "Newest checkpoints to keep; at least average_checkpoints.", may_change=True
    )
    average: Literal["last", "best", "ema", "none", "auto"] = setting(
        "last",
        "Final weights: the mean of the last average_checkpoints (last, §6.1) or of as many best "
        "by dev BLEU (best); the moving average of ema_decay (ema); the last checkpoint (none); "
        "or whichever of these scores best on dev (auto).",
        may_change=True,
    )
    average_checkpoints: int = setting(
        5, "Checkpoints averaged at the end (§6.1: 5 for base, 20 for big).", may_change=True
    )
    eval_every_steps: int = setting(
        0,
        "Updates between evaluations on dev (loss, perplexity, BLEU); 0 to evaluate at the end "
        "only.",
        may_change=True,
    )
    eval_sentences: int = setting(
        0, "Dev sentences translated for BLEU during training; 0 for all.", may_change=True
    )
    early_stopping_patience: int = setting(
        0,
        "Consecutive evaluations without a better dev BLEU after which training stops; 0 to never "
        "stop early.",
        may_change=True,
    )
    dry_run: bool = setting(
        False,
        "Build everything, train two updates on the widest bucket, print parameters, memory, "
        "tokens/s and the estimated training time; write nothing.",
        may_change=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = ("train_steps", "tokens_per_batch", "gradient_accumulation", "warmup_steps")
        require_range(self, *counts, "max_skipped_steps", "log_every_steps", at_least=1)
        intervals = ("checkpoint_every_steps", "checkpoint_every_minutes", "eval_every_steps")
        require_range(self, *intervals, "eval_sentences", "early_stopping_patience", at_least=0)
        require_range(self, "steps_per_call", at_least=0)
        require_range(self, "learning_rate_scale", "adam_epsilon", above=0)
        rates = ("adam_beta_1", "adam_beta_2", "ema_decay", "label_smoothing")
        require_range(self, *rates, at_least=0, below=1)
        require_range(self, "seed", at_least=0, below=2**32)
        choices = ("label_smoothing_over", "mixed_precision", "nan_policy", "average", "device")
        require_choice(self, *choices, "gradient_reduction")
        require(
            not self.early_stopping_patience or self.eval_every_steps > 0,
            "eval_every_steps above 0",
            as_flags(self, "early_stopping_patience", "eval_every_steps"),
        )
        require(
            self.average != "best" or self.eval_every_steps > 0,
            "eval_every_steps above 0",
            as_flags(self, "average", "eval_every_steps"),
        )
        require(
            self.average != "ema" or self.ema_decay > 0,
            "ema_decay above 0",
            as_flags(self, "average", "ema_decay"),
        )
        require(
            1 <= self.average_checkpoints <= self.keep_checkpoints,
            "average_checkpoints of at least 1 and at most keep_checkpoints",
            as_flags(self, "average_checkpoints", "keep_checkpoints"),
        )
        self._check_initialization()

    def _check_initialization(self) -> None:
        require(
            not storage.is_url(self.init_from),
            "a folder of a file system; copy the run there beforehand",
            as_flags(self, "init_from"),
        )
        require(
            bool(self.init_from) or (self.init_checkpoint == "auto" and not self.freeze),
            "init_from, the run whose weights to start from",
            as_flags(self, "init_checkpoint", "freeze"),
        )
        frozen = tuple(part for part in PARTS if part in self.freeze)
        require(
            {*self.freeze} <= {*PARTS} and frozen != PARTS,
            "some of embedding, encoder and decoder, but not all",
            as_flags(self, "freeze"),
        )
        object.__setattr__(self, "freeze", frozen)
