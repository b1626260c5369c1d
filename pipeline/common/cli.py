"""Command lines: absl flags generated from frozen dataclasses, and errors of one line.

A hyper-parameter is stated once, as a `setting` of a frozen dataclass (`settings`). Every entry
point makes the same three calls: `define_flags` for each dataclass it reads, `run(main)`, and
`config_from_flags` inside `main`.
"""

import contextlib
import dataclasses
import difflib
import io
import logging as standard_logging
import os
import re
import sys
import types
import typing
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from absl import app, flags, logging

from pipeline.common import flag_help, signals
from pipeline.common.errors import FULL_DISK, UserError

Config = TypeVar("Config")
_PARSERS: dict[type, Callable[[], flags.ArgumentParser]] = {
    int: flags.IntegerParser,
    float: flags.FloatParser,
    str: flags.ArgumentParser,
}


def define_flags(
    config_class: type,
    flag_values: flags.FlagValues = flags.FLAGS,
    *,
    only: Collection[str] | None = None,
) -> None:
    """Defines one flag for each field of a configuration dataclass.

    Args:
        config_class: frozen dataclass of settings. Field types: bool, int, float, str, `Literal[…]`
            of strings, `tuple[str, …]` (a comma-separated list), or one of these `| None`. A field
            without a default makes a required flag. A field that is itself such a dataclass
            stands for its flags, which are a group of their own in `--help`.
        flag_values: where the flags are defined.
        only: names of the fields, for a command that reads no others; all by default.
    """
    hints = typing.get_type_hints(config_class)
    for field in dataclasses.fields(config_class):
        if only is not None and field.name not in only:
            continue
        if dataclasses.is_dataclass(hints[field.name]):
            define_flags(hints[field.name], flag_values)
        else:
            group = flag_help.group_name(config_class)
            _define_flag(field, hints[field.name], group, flag_values)


def config_from_flags(
    config_class: type[Config], flag_values: flags.FlagValues = flags.FLAGS
) -> Config:
    """Returns the configuration that the parsed flags describe.

    Raises:
        UserError: a required flag is missing, or the dataclass refuses the values: its
            `__post_init__` raised ValueError.
    """
    values: dict[str, Any] = {}
    hints = typing.get_type_hints(config_class)
    for field in dataclasses.fields(config_class):  # type: ignore[arg-type]
        if dataclasses.is_dataclass(hints[field.name]):
            values[field.name] = config_from_flags(hints[field.name], flag_values)
            continue
        value = flag_values[field.name].value
        if value is None and field.default is dataclasses.MISSING:
            raise UserError(f"--{field.name} is required: {field.metadata['help']}")
        values[field.name] = tuple(value) if isinstance(value, list) else value
    try:
        return config_class(**values)
    except ValueError as error:
        raise UserError(str(error)) from error


def override_from_flags(config: Config, flag_values: flags.FlagValues = flags.FLAGS) -> Config:
    """Returns `config` with the fields replaced whose flags were given on the command line.

    Raises:
        UserError: the dataclass refuses the values.
    """
    try:
        values = {name: flag_values[name].value for name in given_flags(type(config), flag_values)}
        return dataclasses.replace(config, **values)  # type: ignore[type-var]
    except ValueError as error:
        raise UserError(str(error)) from error


def given_flags(config_class: type, flag_values: flags.FlagValues = flags.FLAGS) -> list[str]:
    """Returns the names of a configuration's flags that were given on the command line."""
    names = [field.name for field in dataclasses.fields(config_class)]
    return [name for name in names if name in flag_values and flag_values[name].present]


def run(
    main: Callable[[list[str]], int | None],
    *,
    allow_unknown: bool = False,
    to_continue: str = "",
    may_be_killed: bool = False,
) -> None:
    """Parses the command line, runs `main` and exits; a user's mistake is one line on stderr.

    Exit codes: 0 or what `main` returns; 2 for a user's mistake; 130 for an interrupt; 141 if the
    reader of standard output has closed it. Any other exception keeps its traceback.

    Args:
        main: receives the program name and the arguments that are not our flags.
        allow_unknown: pass unknown arguments to `main` instead of refusing them.
        to_continue: message after an interrupt or on a full disk: how to continue.
        may_be_killed: a kill harms no work, so SIGINT and SIGTERM (exit code 143) end the process
            at once, whatever its threads do.
    """
    interrupted = _join("interrupted", to_continue)
    ending = signals.exiting_at_once(interrupted) if may_be_killed else contextlib.nullcontext()
    flags.FLAGS.set_gnu_getopt(True)
    flags.FLAGS.set_default("verbosity", logging.INFO)
    logging.get_absl_handler().setFormatter(PlainFormatter())
    try:
        with ending:
            app.run(main, flags_parser=lambda argv: parse(argv, allow_unknown=allow_unknown))
    except UserError as error:
        _exit(str(error), 2)
    except KeyboardInterrupt:
        _exit(interrupted, 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        if error.filename is None and error.errno not in FULL_DISK:
            raise
        _exit(_explain(error, to_continue), 2)


def parse(
    argv: Sequence[str],
    flag_values: flags.FlagValues = flags.FLAGS,
    *,
    allow_unknown: bool = False,
) -> list[str]:
    """Parses `argv` into `flag_values`; returns the program name and the remaining arguments.

    Raises:
        UserError: an unknown flag, a value of the wrong type, a flagfile that cannot be opened or
          includes itself.
    """
    if {"--help", "-h", "-help", "--helpshort"}.intersection(argv):
        print(flag_help.format_help(flag_values))
        sys.exit(0)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            rest = flag_values(argv, known_only=True)
    except (flags.Error, ValueError) as error:
        raise UserError(f"{str(error).removeprefix('ERROR:: ')}; --help lists them all") from error
    circle = re.search(r"circular flagfile dependency.*: (.*)", printed.getvalue())
    if circle:  # absl only warns
        raise UserError(f"flagfile {circle[1]} includes itself: remove the --flagfile that does so")
    sys.stderr.write(printed.getvalue())
    if len(rest) > 1 and not allow_unknown:
        refuse_unknown(rest[1], flag_help.our_flags(flag_values))
    return rest


def refuse_unknown(argument: str, known: Sequence[str]) -> typing.NoReturn:
    """Raises UserError for an unknown argument, naming the nearest known flags."""
    if not argument.startswith("-"):
        raise UserError(f"unexpected argument {argument!r}: only --flag=value is understood")
    name = argument.lstrip("-").partition("=")[0]
    nearest = [f"--{flag}" for flag in difflib.get_close_matches(name, sorted(set(known)), n=3)]
    hint = ", ".join(nearest) or "--help lists them all"
    raise UserError(f"unknown flag --{name}; nearest: {hint}")


def _define_flag(
    field: "dataclasses.Field[Any]", hint: Any, group: str, flag_values: flags.FlagValues
) -> None:
    if isinstance(hint, types.UnionType):
        (hint,) = (member for member in typing.get_args(hint) if member is not type(None))
    help_text = field.metadata["help"]
    default = None if field.default is dataclasses.MISSING else field.default
    if hint is bool:
        flags.DEFINE_boolean(field.name, default, help_text, flag_values, group)
        return
    parser, serializer = _parser(hint)
    default = list(default) if isinstance(default, tuple) else default
    flags.DEFINE(parser, field.name, default, help_text, flag_values, serializer, module_name=group)


def _parser(hint: Any) -> tuple[flags.ArgumentParser, flags.ArgumentSerializer]:
    if typing.get_origin(hint) is typing.Literal:
        return flags.EnumParser(typing.get_args(hint)), flags.ArgumentSerializer()
    if typing.get_origin(hint) is tuple:
        return flags.ListParser(), flags.ListSerializer(",")
    return _PARSERS[hint](), flags.ArgumentSerializer()


def _explain(error: OSError, to_continue: str) -> str:
    if error.errno not in FULL_DISK:
        return f"cannot use {error.filename}: {error.strerror}"
    problem = f"cannot write {error.filename or 'to the disk'}: {error.strerror}"
    return _join(problem, "free some space", to_continue)


def _join(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _exit(message: str, code: int) -> typing.NoReturn:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


class PlainFormatter(standard_logging.Formatter):
    """Shows plain messages; only warnings and errors start with their level."""

    def format(self, record: standard_logging.LogRecord) -> str:
        """Returns the line of a record."""
        message = record.getMessage()
        if record.exc_info:
            message = f"{message}\n{self.formatException(record.exc_info)}"
        is_plain = record.levelno <= standard_logging.INFO
        return message if is_plain else f"{record.levelname.lower()}: {message}"
