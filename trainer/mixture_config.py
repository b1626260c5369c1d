"""Configuration of the data to train on: one dataset, or a mixture of several."""

import dataclasses
from fractions import Fraction

from pipeline.common.settings import as_flags, require, require_range, setting


@dataclasses.dataclass(frozen=True)
class MixtureConfig:
    """Datasets and their shares.

    Raises:
        ValueError: if a value is out of range.
    """

    dataset_dir: str = setting(
        "data/wmt14_en_de",
        "Dataset directory, written by pipeline.preprocess; several with commas between them, of "
        "the same subwords and shapes of rows (--like), to mix them. Dev is that of the first.",
        may_change=True,
    )
    dataset_weights: tuple[str, ...] = setting(
        (),
        "Weight of each dataset in a mixture, such as 3,1: the shares of target tokens that come "
        "from each are proportional. Unset: by the datasets' sizes and dataset_temperature.",
    )
    dataset_temperature: float = setting(
        1.0,
        "T in a mixture without weights: shares are proportional to the datasets' target tokens to "
        "the power 1/T. 1 for the datasets as they are; more, such as 5, up-samples small ones.",
    )

    def __post_init__(self) -> None:
        require_range(self, "dataset_temperature", above=0)
        directories, weights = self.dataset_dirs, self.dataset_weights
        require(
            all(directories) and len({*directories}) == len(directories),
            "different directories with commas between them",
            as_flags(self, "dataset_dir"),
        )
        require(
            len(weights) in (0, len(directories)),
            f"{len(directories)} weight(s), one for each dataset",
            as_flags(self, "dataset_weights", "dataset_dir"),
        )
        require(
            all(map(_is_positive, weights)), "numbers above 0", as_flags(self, "dataset_weights")
        )
        require(
            not weights or self.dataset_temperature == 1,
            "weights or a temperature, not both",
            as_flags(self, "dataset_weights", "dataset_temperature"),
        )

    @property
    def dataset_dirs(self) -> tuple[str, ...]:
        """The directories of all datasets, first that whose dev decides."""
        return tuple(self.dataset_dir.split(","))

    @property
    def weights(self) -> list[Fraction]:
        """The exact values of `dataset_weights`."""
        return list(map(Fraction, self.dataset_weights))


def _is_positive(text: str) -> bool:
    try:
        return Fraction(text) > 0
    except (ValueError, ZeroDivisionError):
        return False
