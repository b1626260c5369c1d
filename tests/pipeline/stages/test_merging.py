import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

from pipeline.blocks.stop import Stop
from pipeline.stages.merging import Merge, as_merged
from tests.helpers.beam import pipeline


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (list(range(300)), sum(range(300))),
        ([], 0),
        ([1, Stop((1, 1), "b"), 2, Stop((1, 0), "a")], Stop((1, 0), "a")),
    ],
)
def test_values_are_merged_or_the_first_stop_is_kept(
    values: list[object], expected: object
) -> None:
    with pipeline() as p:
        merged = as_merged(p | beam.Create(values), "Add", sum)
        result = p | "Seed" >> beam.Create([None]) | beam.Map(lambda _, value: value, merged)
        assert_that(result, equal_to([expected]))


def test_accumulators_stay_small() -> None:
    merge = Merge(sum)
    accumulator = merge.create_accumulator()
    for number in range(1000):
        accumulator = merge.add_input(accumulator, number)
        assert len(accumulator) <= 64
    others = merge.compact(merge.add_input(merge.create_accumulator(), 5))
    together = merge.merge_accumulators([accumulator, others])
    assert len(together) == 1 and merge.extract_output(together) == sum(range(1000)) + 5
