"""Shows the content of a dataset directory: its data card, lengths, padding and sample pairs.

    python -m pipeline.inspect data/demo
    python -m pipeline.inspect data/demo --verify
        compares every file with its recorded checksum; exits 2 if one differs, naming it

Writes nothing. Programs read the same card from dataset.json.
"""

# Named after its command; `import inspect` still finds the standard library's, being absolute.
import dataclasses

from pipeline import card
from pipeline.common import cli
from pipeline.common.errors import UserError
from pipeline.common.settings import require_range, setting
from pipeline.dataset.schema import load_dataset
from pipeline.dataset.verification import verify


@dataclasses.dataclass(frozen=True)
class InspectConfig:
    """What to show of a dataset directory.

    Raises:
        ValueError: if a value is out of range.
    """

    samples: int = setting(3, "Pairs to show with their subwords, from short to long.")
    verify: bool = setting(False, "Compare every file with its checksum instead.")

    def __post_init__(self) -> None:
        require_range(self, "samples", at_least=0)


def main(argv: list[str]) -> None:
    """Runs the command; `argv` holds the program name and the directory."""
    config = cli.config_from_flags(InspectConfig)
    for argument in argv[1:]:
        if argument.startswith("-"):
            cli.refuse_unknown(argument, [field.name for field in dataclasses.fields(config)])
    if len(argv) != 2:
        received = " ".join(argv[1:]) or "nothing"
        raise UserError(f"received {received}: expected one dataset directory, such as data/demo")
    dataset = load_dataset(argv[1])
    if config.verify:
        print(f"{dataset.directory}: {verify(dataset):,} files, every checksum matches")
    else:
        print(card.format_card(dataset, samples=config.samples))


if __name__ == "__main__":
    cli.define_flags(InspectConfig)
    cli.run(main, allow_unknown=True)
