r"""Translates text, one sentence per line, with a run or with an exported SavedModel.

    echo "The old dog sleeps in the garden." | python -m trainer.translate --run_dir=runs/demo
    python -m trainer.translate --saved_model=DIR --input_file=news.en --output_file=news.de
    python -m trainer.translate --saved_model=DIR --input_file=news.en --output_file=news.de \
        --runner=DirectRunner --num_workers=8
    python -m trainer.translate --run_dir=runs/a --ensemble=runs/b,runs/c --prefix_file=begun.de \
        --input_file=news.en --output_file=news.de
    python -m trainer.translate --run_dir=runs/demo --interactive
    python -m trainer.translate --run_dir=runs/demo --split_sentences < letter.txt

Line n of the output translates line n of the input; with --n_best=N it has at most N lines for each
(one for a blank line), in Moses' format: the number of the line, from 0, the translation and its
score, with ||| between them; --alignments and --word_confidence add fields to either. With
--output_file, finished blocks of lines are kept in OUTPUT_FILE.parts: killed at any moment, the
same command goes on, and OUTPUT_FILE, which must not exist, appears as a whole at the end. With
--runner, blocks are translated on the workers of a Beam runner; options of Apache Beam may follow.
(beamformer.Translate, for pipelines of your own, keeps neither the order of lines nor what a killed
job has finished, so it is not used here.) With --interactive, each line of standard input is
translated before the next one is read, until its end or Ctrl-C.
"""

from absl import flags

from model.config import AlignmentConfig, SearchConfig
from pipeline.common import cli, flag_help
from pipeline.common.errors import TO_CONTINUE, UserError
from trainer.bulk_translation.blocks import Model
from trainer.bulk_translation.driver import TextFiles, translate_file, translate_stream
from trainer.bulk_translation.interactive import translate_interactively
from trainer.runs.run_dataset import check_source_tag
from trainer.runs.run_directory import load_run
from trainer.runs.trained_model import TrainedModels


def main(argv: list[str]) -> int:
    """Reads the flags, then translates to a file or to standard output; returns the exit code."""
    files = cli.config_from_flags(TextFiles)
    our_flags = flag_help.our_flags(flags.FLAGS)
    if not files.runner and argv[1:]:
        cli.refuse_unknown(argv[1], our_flags)
    model = _read_model(files)
    if files.interactive:
        return translate_interactively(model)
    if files.output_file:
        translate_file(files, model, beam_arguments=argv[1:], our_flags=our_flags)
    else:
        translate_stream(files, model)
    return 0


def _read_model(files: TextFiles) -> Model:
    """Raises UserError if flags contradict, such as those of a run with a SavedModel."""
    saved_model, with_prefixes = files.saved_model, files.prefix_file is not None
    fixed = (TrainedModels, SearchConfig, AlignmentConfig)
    ignored = [flag for config in fixed for flag in cli.given_flags(config)]
    if saved_model and ignored:
        raise UserError(
            f"received --saved_model and --{ignored[0]}: which weights and how to search was "
            "fixed by trainer.export; leave one out, or export again"
        )
    if saved_model and files.source_tag:
        raise UserError(
            f"received --saved_model and --source_tag={files.source_tag}: a SavedModel takes the "
            "tag as text; put it before each line, with a space after it"
        )
    split = files.split_sentences
    if saved_model:
        return Model(
            saved_model,
            with_prefixes=with_prefixes,
            split_sentences=split,
            beside=files.beside,
        )
    trained = cli.config_from_flags(TrainedModels)
    run = load_run(trained.run_dir)
    search = cli.override_from_flags(run.search)
    check_source_tag(run, files.source_tag)
    if search.n_best > 1 and with_prefixes:
        raise UserError(
            f"received --prefix_file and --n_best={search.n_best}, from the command line or the "
            "run: expected --n_best=1; a translation with a prefix is one alone"
        )
    if search.n_best > 1 and split:
        raise UserError(
            f"received --split_sentences and --n_best={search.n_best}, from the command line or "
            "the run: expected --n_best=1; sentences are joined by their best translations"
        )
    return Model(
        None,
        trained,
        search,
        with_prefixes,
        files.source_tag,
        split,
        files.beside,
        cli.config_from_flags(AlignmentConfig),
    )


if __name__ == "__main__":
    for config in (TextFiles, TrainedModels, SearchConfig, AlignmentConfig):
        cli.define_flags(config)
    cli.run(
        main,
        allow_unknown=True,
        to_continue=f"with --output_file, {TO_CONTINUE}",
    )
