import itertools
import random

import pytest

from pipeline.buckets import bucket_of, choose_boundaries, padding_efficiency


def positions(histogram: dict[int, int], boundaries: tuple[int, ...]) -> int:
    placed = ((bucket_of(length, boundaries), count) for length, count in histogram.items())
    return sum(bucket * count for bucket, count in placed if bucket)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("max_buckets", [1, 2, 3, 5])
def test_no_other_boundaries_waste_less(seed: int, max_buckets: int) -> None:
    random_numbers = random.Random(seed)
    histogram = {
        n: random_numbers.randrange(50) for n in range(1, 11) if random_numbers.random() > 0.3
    }
    best = choose_boundaries(histogram, 12, max_buckets)
    assert best[-1] == 12 and len(best) <= max_buckets and list(best) == sorted(set(best))
    choices = (
        (*chosen, 12)
        for size in range(max_buckets)
        for chosen in itertools.combinations(range(1, 12), size)
    )
    least = min(positions(histogram, boundaries) for boundaries in choices)
    assert positions(histogram, best) == least


def test_pairs_longer_than_the_limit_do_not_count() -> None:
    assert choose_boundaries({3: 5, 99: 1000}, 10, 2) == (3, 10)


def test_the_limit_is_a_boundary_without_any_pair() -> None:
    assert choose_boundaries({}, 10, 4) == (10,)


@pytest.mark.parametrize(("length", "bucket"), [(1, 8), (8, 8), (9, 16), (16, 16), (17, None)])
def test_a_pair_goes_to_the_first_bucket_that_holds_it(length: int, bucket: int | None) -> None:
    assert bucket_of(length, (8, 16)) == bucket


def test_efficiency_is_real_tokens_over_both_sides_positions() -> None:
    assert padding_efficiency(tokens=30, pairs=2, bucket_length=10) == 0.75
