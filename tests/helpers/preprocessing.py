"""A small corpus and the shortest ways to preprocess it, for several test modules."""

from pathlib import Path

from pipeline.build.driver import build_dataset
from pipeline.config import PreprocessConfig
from pipeline.dataset import schema
from pipeline.stages.runners import make_options
from pipeline.subwords.encoding import load_subwords

ROOT = Path(__file__).resolve().parents[2]
WORDS = [
    ("dogs", "Hunde"),
    ("cats", "Katzen"),
    ("birds", "Vögel"),
    ("girls", "Mädchen"),
    ("boys", "Jungen"),
    ("bears", "Bären"),
    ("foxes", "Füchse"),
    ("horses", "Pferde"),
]


def make_corpus(folder: Path, pairs: int = 500) -> dict[str, tuple[str, ...]]:
    """Writes aligned text of different lengths; returns the fields that name the files."""
    source, target = [], []
    for number in range(pairs):
        digits = [int(digit) for digit in f"{number:o}"]
        source.append(" and ".join(WORDS[digit][0] for digit in digits) + " run.")
        target.append(" und ".join(WORDS[digit][1] for digit in digits) + " laufen.")
    folder.mkdir(exist_ok=True)
    for name, lines in (("train.en", source), ("train.de", target)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return {
        "source_files": (str(folder / "train.en"),),
        "target_files": (str(folder / "train.de"),),
    }


def configure(tmp_path: Path, output: str, **changes: object) -> PreprocessConfig:
    fields = {
        **make_corpus(tmp_path / "corpus"),
        "output_dir": str(tmp_path / output),
        "vocabulary_size": 310,
        "holdout_pairs": 20,
        "block_lines": 100,
        **changes,
    }
    return PreprocessConfig(**fields)  # type: ignore[arg-type]


def build(config: PreprocessConfig) -> schema.Dataset:
    """Preprocesses in this process, whatever the workers of the configuration."""
    return build_dataset(config, make_options("DirectRunner", 1, [], []))


def build_with_beam(config: PreprocessConfig, *beam_options: str) -> schema.Dataset:
    """Preprocesses as the command does, on the runner and the workers of the configuration."""
    options = make_options(config.runner, config.num_workers, beam_options, [])
    return build_dataset(config, options)


def contents(directory: str | Path) -> dict[str, bytes]:
    files = (path for path in Path(directory).rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def preprocess_flags(config: PreprocessConfig, **changes: str) -> list[str]:
    """Returns the flags of `pipeline.preprocess` for a configuration of `configure`."""
    values = {
        "source_files": ",".join(config.source_files),
        "target_files": ",".join(config.target_files),
        "output_dir": config.output_dir,
        "vocabulary_size": str(config.vocabulary_size),
        "holdout_pairs": str(config.holdout_pairs),
        "block_lines": str(config.block_lines),
        **changes,
    }
    return [f"--{name}={value}" for name, value in values.items()]


def read_pairs(dataset: schema.Dataset, split: str) -> list[tuple[str, str]]:
    """Returns the text of a split's pairs, decoded from its shards."""
    source, target = (
        load_subwords(dataset.path(dataset.vocabularies[side].path)) for side in schema.SIDES
    )
    pairs = []
    for shard in dataset.splits[split].shards:
        for record in schema.read_records(dataset.path(shard.path)):
            row = schema.parse_example(record)
            assert all(len(ids) <= length for ids, length in zip(row, shard.shape, strict=True))
            sides = zip(*schema.split_row(*row), strict=True)
            texts = (
                subwords.decode(ids) for subwords, ids in zip((source, target), sides, strict=True)
            )
            pairs += list(zip(*texts, strict=True))
    return pairs
