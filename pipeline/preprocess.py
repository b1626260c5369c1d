"""Turns parallel text into a dataset directory: subwords, TFRecord shards by length, a data card.

    python -m pipeline.preprocess --runner=DirectRunner
        writes data/demo from the built-in English–German corpus
    python -m pipeline.preprocess --source_files=en.gz --target_files=de.gz --output_dir=data/mine
        writes a dataset of your own text, with dev and test sets held out of it
    python -m pipeline.preprocess --dataset=wmt14_en_de --output_dir=data/wmt14_en_de
        downloads a named data set, verifies it and writes a dataset of it
    python -m pipeline.preprocess --source_files=en.gz --target_files=de.gz --dry_run
        shows what each cleaning rule would drop from it, with examples

The same input and flags give the same bytes on any runner with any number of workers. A killed
run leaves nothing that a reader accepts; the same command continues it. Ctrl-C (exit code 130) and
SIGTERM (143) end it at once. Apache Beam's own options may follow.
"""

import logging
import time

from absl import flags

from pipeline.common import cli, flag_help
from pipeline.common.errors import TO_CONTINUE
from pipeline.config import PreprocessConfig


def main(argv: list[str]) -> None:
    """Runs the command; `argv` holds the program name and Beam's options."""
    config = cli.config_from_flags(PreprocessConfig)
    # Imported late, so that --help does not wait for Beam, which also warns about missing clients.
    logging.disable(logging.WARNING)
    from pipeline import card
    from pipeline.build import driver, dry_run
    from pipeline.stages import runners

    logging.disable(logging.NOTSET)
    our_flags = flag_help.our_flags(flags.FLAGS)
    options = runners.make_options(config.runner, config.num_workers, argv[1:], our_flags)
    if config.dry_run:
        print(dry_run.format_dry_run(config))
        return
    start = time.monotonic()
    dataset = driver.build_dataset(config, options)
    print(card.format_summary(dataset, time.monotonic() - start, config.languages.known_from))


if __name__ == "__main__":
    cli.define_flags(PreprocessConfig)
    cli.run(main, allow_unknown=True, to_continue=TO_CONTINUE, may_be_killed=True)
