"""What the paper's trainings would take on GPUs: estimated from data sheets, not measured.

    python -m tests.benchmarks.projection --output=tests/benchmarks/results/projection.json

Each figure is a range, [likely, cautious]; `tests.benchmarks.gpu_times` has the assumptions.
Updates are of 25,000 tokens per side in rows of 64 × 64.
"""

import argparse
import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.benchmarks.gpu_times import (
    A100,
    A100_40GB,
    A100_PCIE,
    CAUTIOUS,
    H100,
    H200,
    LIKELY,
    V100,
    Assumptions,
    Gpu,
    Job,
    start_up_seconds,
    time_parts,
    update_seconds,
)
from tests.benchmarks.record import output_flag, write_record
from trainer.config import TrainingConfig
from trainer.paper.flagfiles import read_flagfiles
from trainer.runtime.startup import start_tensorflow

VOCABULARY_SIZE = 37_000  # §5.1
BUCKETS = 5  # row lengths of WMT14: its median of 25 tokens, doubled up to 256
FLAGFILES = {"base": "configs/base.flags", "big": "configs/big.flags"}
MACHINES = {
    "8 × A100": (A100, 8),
    "8 × A100 over PCIe": (A100_PCIE, 8),
    "8 × H100": (H100, 8),
    "8 × H200": (H200, 8),
    "1 × H200": (H200, 1),
}
# Of base on 8 × A100.
CHANGES: dict[str, dict[str, Any]] = {
    "`--mixed_precision=bfloat16 --jit_compile`": {},
    "without `--jit_compile`": {"xla": False},
    "without `--mixed_precision`": {"half": False},
    "`--tokens_per_batch=100000`": {"tokens": 100_000},
    "`--tokens_per_batch=100000 --gradient_accumulation=4`": {"tokens": 100_000, "parts": 4},
}


class Published(NamedTuple):
    """A public figure: target tokens/s of the big model, all GPUs together."""

    gpu: Gpu
    gpus: int
    tokens_per_gpu: int
    half: bool
    tokens_per_second: int


# NVIDIA/DeepLearningExamples, PyTorch/Translation/Transformer/README.md, pytorch-22.06: the big
# model on WMT14 with fused kernels, 33,708 subwords, a sentence pair a row, here of 32 × 32 tokens.
PUBLISHED = {
    "1 × A100 40 GB, float16": Published(A100_40GB, 1, 10_240, True, 82_059),
    "8 × A100 40 GB, float16": Published(A100_40GB, 8, 10_240, True, 551_599),
    "8 × A100 40 GB, TF32": Published(A100_40GB, 8, 10_240, False, 347_936),
    "1 × V100, float16": Published(V100, 1, 5_120, True, 32_942),
    "8 × V100, float16": Published(V100, 8, 5_120, True, 214_656),
}
_PUBLISHED_VOCABULARY_SIZE, _PUBLISHED_ROW = 33_708, 32

Range = list[float]  # likely, cautious


def main() -> None:
    """Projects, prints and writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    output_flag(parser, "projection")
    arguments = parser.parse_args()
    start_tensorflow()
    results = project_all()
    write_record("projection", arguments, results)
    for machine, models in results["machines"].items():
        for name, figures in models.items():
            print(f"{machine}, {name}: ms an update", *figures["milliseconds"])


def project_all() -> dict[str, Any]:
    """Returns all figures of the tables, by machine, public figure and change."""
    updates = {name: read_flagfiles(path).training.train_steps for name, path in FLAGFILES.items()}
    jobs = {name: make_job(path) for name, path in FLAGFILES.items()}
    return {
        "models": {
            name: {
                "updates": updates[name],
                "tokens_per_update": round(2 * job.tokens),
                "parameters": job.parameters,
                "operations_per_update": job.operations * job.gpus,
            }
            for name, job in jobs.items()
        },
        "machines": {
            machine: {
                name: project(dataclasses.replace(job, gpus=gpus), gpu, updates[name])
                for name, job in jobs.items()
            }
            for machine, (gpu, gpus) in MACHINES.items()
        },
        "published": {
            name: {
                "tokens_per_second": figure.tokens_per_second,
                "projected": tokens_per_second(published_job(figure), figure.gpu),
            }
            for name, figure in PUBLISHED.items()
        },
        "changes": {
            name: tokens_per_second(dataclasses.replace(jobs["base"], **change), A100)
            for name, change in CHANGES.items()
        },
    }


def make_job(flagfile: str, vocabulary_size: int = VOCABULARY_SIZE) -> Job:
    """Returns the training of a flagfile on eight GPUs."""
    from trainer.paper.parameter_counts import count_parameters

    experiment = read_flagfiles(flagfile)
    return Job(
        transformer=experiment.transformer,
        vocabulary_size=vocabulary_size,
        parameters=count_parameters(experiment.transformer, vocabulary_size),
        tokens=experiment.training.tokens_per_batch,
    )


def published_job(figure: Published) -> Job:
    """Returns the training that a public figure is of."""
    return dataclasses.replace(
        make_job(FLAGFILES["big"], _PUBLISHED_VOCABULARY_SIZE),
        tokens=figure.tokens_per_gpu * figure.gpus,
        row=_PUBLISHED_ROW,
        gpus=figure.gpus,
        half=figure.half,
    )


def project(job: Job, gpu: Gpu, updates: int) -> dict[str, Any]:
    """Returns milliseconds of an update and of its parts, share of peak, minutes and hours."""
    times = in_range(lambda assumed: times_of(job, gpu, assumed))
    seconds = [update_seconds(*pair) for pair in zip(times, (LIKELY, CAUTIOUS), strict=True)]
    start_up = in_range(lambda assumed: start_up_seconds(job, assumed, buckets=BUCKETS))
    return {
        "milliseconds": [rounded(1e3 * value) for value in seconds],
        "parts": {name: [rounded(1e3 * parts[name]) for parts in times] for name in times[0]},
        "share_of_peak": [rounded(job.operations / value / gpu.half) for value in seconds],
        "start_up_minutes": [rounded(value / 60) for value in start_up],
        "hours": [
            rounded((updates * value + start) / 3600)
            for value, start in zip(seconds, start_up, strict=True)
        ],
    }


def tokens_per_second(job: Job, gpu: Gpu) -> Range:
    """Returns target tokens a second of all GPUs together."""
    return in_range(
        lambda assumed: rounded(job.tokens / update_seconds(times_of(job, gpu, assumed), assumed))
    )


def times_of(job: Job, gpu: Gpu, assumed: Assumptions) -> dict[str, float]:
    """Returns the seconds of each part of an update."""
    from trainer.training.memory import estimate_memory

    memory = estimate_memory(
        job.transformer,
        TrainingConfig(mixed_precision="bfloat16" if job.half else "none"),
        (round(job.rows), job.row, job.row),
        parameters=job.parameters,
        vocabulary_size=job.vocabulary_size,
    )
    return time_parts(job, gpu, assumed, activation_bytes=memory.activations)


def rounded(value: float) -> float:
    """Rounds to four digits, far more than are known."""
    return float(f"{value:.4g}")


def in_range(estimate: Callable[[Assumptions], Any]) -> list[Any]:
    """Returns an estimate under likely and under cautious assumptions."""
    return [estimate(LIKELY), estimate(CAUTIOUS)]


if __name__ == "__main__":
    main()
