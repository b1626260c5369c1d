"""The time of a training update on GPUs, estimated from data sheets.

An update is a list of matrix products, each limited by arithmetic or by memory; passes over the
arrays between them; the optimizer; an all-reduce of the gradients; and what starts kernels. What
a GPU reaches of its data sheet is a range, `LIKELY` and `CAUTIOUS`, which public figures of similar
code must lie in (`PUBLISHED`).
"""

import dataclasses
import math
from typing import NamedTuple

from model.config import TransformerConfig


class Gpu(NamedTuple):
    """A GPU by its data sheet.

    half: operations/s of dense matrix products in bfloat16 or float16.
    single: operations/s of float32 products as frameworks run them, TF32 since Ampere.
    memory: bytes/s of its memory.
    link: bytes/s to the other GPUs, in one direction.
    """

    half: float
    single: float
    memory: float
    link: float


# NVIDIA's data sheets "Tesla V100" (SXM2), "A100 Tensor Core GPU" (SXM with 40 and 80 GB, PCIe),
# "H100 Tensor Core GPU" and "H200 Tensor Core GPU" (SXM), without sparsity.
V100 = Gpu(half=125e12, single=15.7e12, memory=0.9e12, link=150e9)
A100_40GB = Gpu(half=312e12, single=156e12, memory=1.555e12, link=300e9)
A100 = A100_40GB._replace(memory=2.039e12)
A100_PCIE = A100_40GB._replace(memory=1.935e12, link=32e9)  # PCIe 4.0, 16 lanes
H100 = Gpu(half=989e12, single=494e12, memory=3.35e12, link=450e9)
H200 = H100._replace(memory=4.8e12)


class Assumptions(NamedTuple):
    """What is reached of a data sheet, and what code does besides products.

    products: share of the peak in products that arithmetic limits.
    memory: share of the memory's speed.
    passes: times that the activations kept for the backward pass are read or written outside
        products, forward and backward together.
    logit_bytes: read or written for each logit.
    optimizer_bytes: read or written for each weight: gradient, weight and two moments, their
        copies in the compute type, and packing for the all-reduce.
    kernels: kernels for each matrix product, itself included.
    launch_seconds: between the end of a kernel and the start of the next.
    link: share of the link's speed in an all-reduce.
    host_seconds: of Python and TensorFlow's runtime for an update.
    overlap: whether the host prepares an update while the devices compute the one before.
    compile_seconds: of XLA for one program.
    compile_together: whether it compiles the programs of all replicas at the same time.
    trace_seconds: in which TensorFlow traces and optimises the step of one replica, one replica
        after the other on one core.
    """

    products: float
    memory: float
    passes: float
    logit_bytes: float
    optimizer_bytes: float
    kernels: float
    launch_seconds: float
    link: float
    host_seconds: float
    overlap: bool
    compile_seconds: float
    compile_together: bool
    trace_seconds: float


# Products: large ones reach three quarters of an A100's peak in public micro-benchmarks, those of
# width 512 to 1024 less. Link: NCCL's own tests report 200 to 235 of 300 GB/s on 8 × A100, 370 to
# 475 of 450 on H100 and H200 for gigabytes, less for smaller arrays and on PCIe. Launches: about
# a microsecond when kernels queue up (NVIDIA, "Getting Started with CUDA Graphs"), several when
# not. The passes are those at which the published figures fall into the range. With eight virtual
# CPU devices, a core of 2025 takes about two seconds to trace one layer of encoder and decoder for
# a replica, and three to compile it with XLA. Host: `host_time.json` with 8 replicas and 10 updates
# per call; Python alone, or all that two cores do for the eight virtual devices.
LIKELY = Assumptions(
    products=0.65,
    memory=0.9,
    passes=6,
    logit_bytes=14,
    optimizer_bytes=32,
    kernels=3,
    launch_seconds=1e-6,
    link=0.8,
    host_seconds=1.2e-3,
    overlap=True,
    compile_seconds=10,
    compile_together=True,
    trace_seconds=6,
)
CAUTIOUS = Assumptions(
    products=0.45,
    memory=0.75,
    passes=14,
    logit_bytes=30,
    optimizer_bytes=56,
    kernels=6,
    launch_seconds=4e-6,
    link=0.4,
    host_seconds=8e-3,
    overlap=False,
    compile_seconds=15,
    compile_together=False,
    trace_seconds=13,
)


class Product(NamedTuple):
    """A number of products of `[rows, inner]` and `[inner, columns]`."""

    number: float
    rows: float
    inner: float
    columns: float

    @property
    def operations(self) -> float:
        """Two for each multiply-add."""
        return 2 * self.number * self.rows * self.inner * self.columns

    @property
    def elements(self) -> float:
        """Read and written."""
        per_product = (self.rows + self.columns) * self.inner + self.rows * self.columns
        return self.number * per_product


@dataclasses.dataclass(frozen=True)
class Job:
    """What is trained, and on how many GPUs.

    transformer: the architecture.
    vocabulary_size: V.
    parameters: trainable weights.
    tokens: padded tokens per side of the global batch.
    row: tokens per side of a row.
    gpus: that share the batch.
    parts: in which each computes its share.
    half: whether products are in bfloat16 or float16.
    xla: whether XLA compiles the step.
    """

    transformer: TransformerConfig
    vocabulary_size: int
    parameters: int
    tokens: float = 25_000
    row: int = 64
    gpus: int = 8
    parts: int = 1
    half: bool = True
    xla: bool = True

    @property
    def rows(self) -> float:
        """Rows in a part of a GPU's share."""
        return self.tokens / self.row / self.gpus / self.parts

    @property
    def operations(self) -> float:
        """Of an update on one GPU."""
        return 3 * self.parts * sum(product.operations for product in forward_products(self))


def forward_products(job: Job) -> list[Product]:
    """Lists the products of the forward pass of one part; the backward pass has two of each."""
    from trainer.training.loss import LOGITS_PER_CHUNK  # which loads TensorFlow

    config, rows, positions = job.transformer, job.rows, job.rows * job.row
    width, inner = config.model_dim, config.feed_forward_dim
    keys, values = config.num_heads * config.key_dim, config.num_heads * config.value_dim
    heads = rows * config.num_heads
    attention = [
        Product(heads, job.row, config.key_dim, job.row),
        Product(heads, job.row, job.row, config.value_dim),
        Product(1, positions, values, width),
    ]
    to_self = [Product(1, positions, width, 2 * keys + values), *attention]
    to_memory = [
        Product(1, positions, width, keys),
        Product(1, positions, width, keys + values),
        *attention,
    ]
    feed_forward = [Product(1, positions, width, inner), Product(1, positions, inner, width)]
    encoder = [*to_self, *feed_forward] * config.depths.encoder
    decoder = [*to_self, *to_memory, *feed_forward] * config.depths.decoder
    chunks = math.ceil(positions * job.vocabulary_size / LOGITS_PER_CHUNK)
    logits = [Product(1, positions / chunks, width, job.vocabulary_size)] * chunks
    return encoder + decoder + logits


def time_parts(
    job: Job, gpu: Gpu, assumed: Assumptions, *, activation_bytes: float
) -> dict[str, float]:
    """Returns the seconds of each part of an update.

    Args:
        job: what is trained.
        gpu: on what.
        assumed: what is reached.
        activation_bytes: kept for the backward pass of one part.
    """
    peak = gpu.half if job.half else gpu.single
    element = 2 if job.half else 4
    memory = gpu.memory * assumed.memory
    products = forward_products(job)
    unfused = 1 if job.xla else 2.5  # kernels, and passes, that XLA would fuse
    seconds = sum(
        max(product.operations / (peak * assumed.products), product.elements * element / memory)
        for product in products
    )
    logits = job.rows * job.row * job.vocabulary_size * assumed.logit_bytes
    between = (activation_bytes * assumed.passes * unfused + logits) / memory
    launches = 3 * len(products) * assumed.kernels * unfused
    exchanged = 4 * job.parameters * 2 * (job.gpus - 1) / job.gpus  # of a ring, float32
    return {
        "matrix products": 3 * seconds * job.parts,
        "between products": between * job.parts,
        "kernel launches": launches * assumed.launch_seconds * job.parts,
        "optimizer": job.parameters * assumed.optimizer_bytes / memory,
        "all-reduce": exchanged / (gpu.link * assumed.link),
        "host": assumed.host_seconds,
    }


def update_seconds(parts: dict[str, float], assumed: Assumptions) -> float:
    """Returns the seconds of an update of these parts."""
    device = sum(parts.values()) - parts["host"]
    return max(device, parts["host"]) if assumed.overlap else device + parts["host"]


def start_up_seconds(job: Job, assumed: Assumptions, *, buckets: int) -> float:
    """Returns the seconds of tracing, and of XLA compiling one program per bucket and replica."""
    together = 1 if assumed.compile_together else job.gpus
    compiling = buckets * together * assumed.compile_seconds if job.xla else 0.0
    return job.gpus * assumed.trace_seconds + compiling
