"""The projection of training on GPUs: its arithmetic, its tables, and public figures."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from model.config import TransformerConfig
from tests.benchmarks import projection, projection_tables, record, record_tables
from tests.benchmarks.gpu_times import (
    A100,
    CAUTIOUS,
    LIKELY,
    Job,
    forward_products,
    start_up_seconds,
    time_parts,
    update_seconds,
)
from trainer.paper.flagfiles import read_flagfiles

SMALL = TransformerConfig(
    num_layers=2, model_dim=48, feed_forward_dim=100, num_heads=4, value_dim=8
)
JOB = Job(SMALL, vocabulary_size=300, parameters=70_000, tokens=8 * 640, row=16, gpus=8)


def time_of(job: Job, **assumptions: Any) -> dict[str, float]:
    return time_parts(job, A100, LIKELY._replace(**assumptions), activation_bytes=1e6)


def test_products_are_those_that_the_model_counts() -> None:
    from trainer.training.flops import forward_flops, update_flops

    shape = (int(JOB.rows), JOB.row, JOB.row)
    for config in (SMALL, dataclasses.replace(SMALL, encoder_layers=3, decoder_layers=1)):
        job = dataclasses.replace(JOB, transformer=config)
        counted = sum(product.operations for product in forward_products(job))
        assert counted == pytest.approx(forward_flops(config, 300, shape))
    assert JOB.operations == pytest.approx(update_flops(SMALL, 300, shape))
    in_parts = dataclasses.replace(JOB, parts=4)
    assert in_parts.operations == pytest.approx(JOB.operations)


def test_a_product_is_limited_by_arithmetic_or_by_memory() -> None:
    seconds = time_of(JOB)["matrix products"]
    assert time_of(JOB, products=LIKELY.products / 2)["matrix products"] <= 2 * seconds
    assert time_of(JOB, memory=LIKELY.memory / 2)["matrix products"] > seconds  # small products
    wide = dataclasses.replace(JOB, transformer=read_flagfiles("configs/big.flags").transformer)
    arithmetic = wide.operations / (A100.half * LIKELY.products)
    assert arithmetic < time_of(wide)["matrix products"] < 2 * arithmetic


def test_gradients_cross_the_link_as_a_ring_sends_them() -> None:
    sent = 4 * JOB.parameters * 2 * 7 / 8
    assert time_of(JOB)["all-reduce"] == pytest.approx(sent / (A100.link * LIKELY.link))
    assert time_of(dataclasses.replace(JOB, gpus=1))["all-reduce"] == 0


def test_the_host_is_hidden_only_where_it_overlaps() -> None:
    parts = {"matrix products": 3.0, "all-reduce": 1.0, "host": 2.0}
    assert update_seconds(parts, LIKELY) == 4.0
    assert update_seconds({**parts, "host": 9.0}, LIKELY) == 9.0
    assert update_seconds(parts, CAUTIOUS) == 6.0


def test_every_replica_is_traced_and_xla_compiles_a_program_per_bucket() -> None:
    traced = [JOB.gpus * assumed.trace_seconds for assumed in (LIKELY, CAUTIOUS)]
    at_once = traced[0] + 5 * LIKELY.compile_seconds
    assert start_up_seconds(JOB, LIKELY, buckets=5) == at_once
    in_turn = traced[1] + 5 * JOB.gpus * CAUTIOUS.compile_seconds
    assert start_up_seconds(JOB, CAUTIOUS, buckets=5) == in_turn
    no_xla = dataclasses.replace(JOB, xla=False)
    assert start_up_seconds(no_xla, CAUTIOUS, buckets=5) == traced[1]


@pytest.fixture(scope="module")
def projected() -> dict[str, Any]:
    return projection.project_all()


def test_the_committed_projection_is_that_of_this_code(projected: dict[str, Any]) -> None:
    committed = json.loads((record.RESULTS / "projection.json").read_text("utf-8"))["results"]
    assert json.loads(json.dumps(projected)) == committed, "run tests.benchmarks.projection"


def test_public_figures_lie_in_the_projected_range(projected: dict[str, Any]) -> None:
    assert projected["published"].keys() == projection.PUBLISHED.keys()
    for name, figures in projected["published"].items():
        likely, cautious = figures["projected"]
        assert cautious < figures["tokens_per_second"] < likely, name


def test_what_helps_helps(projected: dict[str, Any]) -> None:
    speeds = {name: likely for name, (likely, _) in projected["changes"].items()}
    standard, no_xla, single, large, in_parts = speeds.values()
    assert max(no_xla, single) < standard < in_parts <= large


def test_tables_show_ranges_to_two_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = {
        "milliseconds": [12.34, 123.4],
        "share_of_peak": [0.256, 0.081],
        "hours": [0.336, 1234.0],
        "start_up_minutes": [0.83, 10.0],
    }
    results = {
        "models": {"base": {"updates": 100_000, "operations_per_update": 1e13}},
        "machines": {"8 × A100": {"base": figures}},
        "published": {"1 × A100": {"tokens_per_second": 82_059, "projected": [93_456, 51_234]}},
        "changes": {"as it is": [2_000_000, 987_654]},
    }
    made = {"benchmark": "projection", "results": results}
    monkeypatch.setattr(record_tables, "read_records", lambda: [made])
    paper, row = projection_tables.projection().splitlines()[2:]
    assert paper.startswith("| the paper's 8 × P100, measured | base | 432 | 27% | 12 |")
    assert row == ("| 8 × A100 | base | 12 to 120 | 26% to 8% | 0.34 to 1,200 | 0.83 to 10 |")
    assert "| 1 × A100 | 82,059 | 93,000 to 51,000 |" in projection_tables.projection_check()
    assert "| as it is | 2,000,000 to 990,000 |" in projection_tables.projection_changes()


def test_memory_table_has_parts_and_their_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"weights": 1e9, "optimizer": 2e9, "gradients": 1e9, "activations": 3.25e9}
    entry = {"model": "big", "precision": "float32", "devices": 1, "row": 256}
    entry |= {"bytes": {**parts, "workspace": 5e8}, "estimated": 5.75e9, "compiled": 4.6e9}
    made = {"benchmark": "memory", "results": {"estimates": [entry]}}
    monkeypatch.setattr(record_tables, "read_records", lambda: [made])
    row = projection_tables.memory().splitlines()[2]
    assert row == (
        "| big, float32, 1 device | 256 × 256 | 1.0 | 2.0 | 1.0 | 3.2 | 0.5 | **7.8** | 0.80 |"
    )


def test_the_memory_table_follows_from_the_formula(tmp_path: Path) -> None:
    from tests.benchmarks import memory

    committed = json.loads((record.RESULTS / "memory.json").read_text("utf-8"))["results"]
    for case, entry in zip(memory.CASES, committed["estimates"], strict=True):
        assert memory.measure(case, [], tmp_path).items() <= entry.items(), case
