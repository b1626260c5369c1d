"""Beam's engines. DirectRunner means our choice: FnApiRunner in this process, no download.

Beam's own DirectRunner would first try to fetch the Prism binary from the network; what a user
gets would then depend on the network.
"""

import argparse
import logging
import shlex
import sys
from collections.abc import Sequence

from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions
from apache_beam.portability.api import beam_provision_api_pb2
from apache_beam.runners.portability.fn_api_runner import fn_runner
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.runners.runner import PipelineRunner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from pipeline import worker
from pipeline.cli import refuse_unknown

DIRECT = "DirectRunner"


def make_options(
    runner: str, num_workers: int, arguments: Sequence[str], our_flags: Sequence[str]
) -> PipelineOptions:
    """Returns Beam's options.

    Args:
      runner: name of a Beam runner.
      num_workers: worker processes of DirectRunner.
      arguments: the command line's arguments which are not ours, so must be Beam's.
      our_flags: names to suggest beside Beam's when an argument is neither's.

    Raises:
      UserError: an argument is neither ours nor Beam's.
    """
    _refuse_strangers(arguments, our_flags)
    # What goes wrong arrives as an exception with its traceback; logged, it would come twice.
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
    options = PipelineOptions([*arguments, f"--runner={runner}"])
    options.view_as(DirectOptions).direct_num_workers = num_workers
    return options


def make_runner(options: PipelineOptions) -> PipelineRunner | str:
    """Returns the runner for the options: in-process for DirectRunner, else the name as it is."""
    name = options.get_all_options()["runner"]
    if name != DIRECT:
        return name
    # Worker processes learn the pipeline options from the provision info alone.
    encoded = JobServiceHandle.encode_pipeline_options(options.get_all_options())
    information = beam_provision_api_pb2.ProvisionInfo(pipeline_options=encoded)
    environment = None  # blocks are processed in this process
    if options.view_as(DirectOptions).direct_num_workers > 1:
        command = f"{shlex.quote(sys.executable)} -m {worker.__name__}"
        environment = SubprocessSDKEnvironment.from_command_string(command)
    return fn_runner.FnApiRunner(
        environment, provision_info=fn_runner.ExtendedProvisionInfo(information)
    )


def _refuse_strangers(arguments: Sequence[str], our_flags: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for options in PipelineOptions.__subclasses__():
        options._add_argparse_args(parser)
    strangers = parser.parse_known_args(list(arguments))[1]
    if strangers:
        known = [name.lstrip("-") for name in parser._option_string_actions]
        refuse_unknown(strangers[0], [*our_flags, *known])
