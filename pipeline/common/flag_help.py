"""The text of `--help`: the command's docstring, then our flags by configuration dataclass."""

import inspect
import os
import sys
import textwrap

from absl import flags

_GROUP = "flags of "
_WIDTH = 96
_VALUES = {"bool": "", "int": "N", "float": "X", "string": "TEXT"}
_VALUES["comma separated list of strings"] = "A,B,…"
_CLOSING = """\
Also:
  --flagfile=FILE   read flags from FILE, one per line, # for comments; later flags win
  --verbosity=N     -1 warnings only, 0 information (default), 1 debugging
  --helpfull        every flag of every library too
"""


def group_name(config_class: type) -> str:
    """Returns the absl module name that groups a dataclass's flags."""
    summary = (inspect.getdoc(config_class) or config_class.__name__).splitlines()[0]
    return _GROUP + summary


def our_flags(flag_values: flags.FlagValues) -> list[str]:
    """Returns the names of the flags made from dataclasses, in the order of definition."""
    return [flag.name for group in _groups(flag_values).values() for flag in group]


def format_help(flag_values: flags.FlagValues) -> str:
    """Returns the help text of the running command."""
    main = sys.modules["__main__"]
    docstring = inspect.cleandoc(main.__doc__ or "")
    module = getattr(main.__spec__, "name", None) if getattr(main, "__spec__", None) else None
    started = f"-m {module.removesuffix('.__main__')}" if module else os.path.basename(sys.argv[0])
    groups = [
        "\n".join([title.removeprefix(_GROUP), *map(_format_flag, group)])
        for title, group in _groups(flag_values).items()
    ]
    usage = f"Usage: python {started} [--flag=value …] [--flagfile=FILE]"
    return "\n\n".join([docstring, usage, *groups, _CLOSING])


def _groups(flag_values: flags.FlagValues) -> dict[str, list[flags.Flag]]:
    modules = flag_values.flags_by_module_dict()
    return {name: group for name, group in modules.items() if name.startswith(_GROUP)}


def _format_flag(flag: flags.Flag) -> str:
    choices = getattr(flag.parser, "enum_values", None)
    value = "|".join(choices) if choices else _VALUES[flag.parser.flag_type()]
    name = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}={value}"
    default = (flag.default_as_str or "").strip("'") or "unset"
    text = f"{flag.help} (default: {default})"
    indent = " " * 6
    body = textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)
    return f"  {name}\n{body}"
