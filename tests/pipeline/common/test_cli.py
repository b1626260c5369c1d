import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from absl import flags

from pipeline.common import cli, flag_help
from pipeline.common.errors import UserError
from pipeline.common.settings import required_setting, setting


@dataclasses.dataclass(frozen=True)
class Bakery:
    """What is baked."""

    loaves: int = setting(3, "loaves an hour (§1)")
    salt: float | None = setting(None, "salt (g)")
    open: bool = setting(True, "whether it sells")
    flour: Literal["rye", "wheat"] = setting("rye", "grain")
    names: tuple[str, ...] = setting((), "of the loaves")

    def __post_init__(self) -> None:
        if self.loaves < 0:
            raise ValueError(f"received --loaves={self.loaves}: expected at least 0")


@dataclasses.dataclass(frozen=True)
class Street:
    """Where it is."""

    street: str = required_setting("name of the street")


@pytest.fixture
def values() -> flags.FlagValues:
    values = flags.FlagValues()
    values.set_gnu_getopt(True)
    cli.define_flags(Bakery, values)
    return values


def test_flags_carry_every_type_of_field(values: flags.FlagValues) -> None:
    arguments = "--loaves=5 --salt=0.5 --noopen --flour=wheat --names=a,b"
    assert cli.parse(["bake", *arguments.split()], values) == ["bake"]
    expected = Bakery(loaves=5, salt=0.5, open=False, flour="wheat", names=("a", "b"))
    assert cli.config_from_flags(Bakery, values) == expected


def test_without_arguments_the_flags_give_the_dataclass_defaults(values: flags.FlagValues) -> None:
    cli.parse(["bake"], values)
    assert cli.config_from_flags(Bakery, values) == Bakery()


def test_a_command_may_take_some_flags_of_a_configuration_only() -> None:
    values = flags.FlagValues()
    cli.define_flags(Bakery, values, only=("loaves", "names"))
    assert flag_help.our_flags(values) == ["loaves", "names"]
    cli.parse(["bake", "--loaves=5"], values)
    assert cli.override_from_flags(Bakery(salt=0.5), values) == Bakery(loaves=5, salt=0.5)


def test_a_field_without_default_is_a_required_flag() -> None:
    values = flags.FlagValues()
    cli.define_flags(Street, values)
    cli.parse(["bake"], values)
    with pytest.raises(UserError, match="--street is required: name of the street"):
        cli.config_from_flags(Street, values)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--loves=3", "unknown flag --loves; nearest: --loaves"),
        ("--zzz", "unknown flag --zzz; nearest: --help lists them all"),
        ("--loaves=many", "--loaves=many"),
        ("--flour=oats", "<rye|wheat>"),
        ("--flagfile=/nowhere/x.flags", "/nowhere/x.flags"),
        ("--salt", "Missing value"),
        ("loaf", "unexpected argument 'loaf'"),
    ],
)
def test_a_wrong_command_line_is_explained(
    values: flags.FlagValues, argument: str, message: str
) -> None:
    with pytest.raises(UserError) as error:
        cli.parse(["bake", argument], values)
    assert message in str(error.value)


@pytest.mark.parametrize("through", [["a"], ["a", "b"]])
def test_a_flagfile_that_includes_itself_is_refused(
    values: flags.FlagValues,
    through: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, included in zip(through, [*through[1:], "a"], strict=True):
        (tmp_path / name).write_text(f"--loaves=1\n--flagfile={tmp_path / included}\n")
    with pytest.raises(UserError, match="/a includes itself: remove the --flagfile"):
        cli.parse(["bake", f"--flagfile={tmp_path / 'a'}"], values)
    assert capsys.readouterr().err == ""


def test_a_flagfile_may_be_included_twice(values: flags.FlagValues, tmp_path: Path) -> None:
    (tmp_path / "base").write_text("--loaves=1\n")
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"--flagfile={tmp_path / 'base'}\n")
    cli.parse(["bake", f"--flagfile={tmp_path / 'a'}", f"--flagfile={tmp_path / 'b'}"], values)
    assert cli.config_from_flags(Bakery, values).loaves == 1


def test_a_refused_value_is_the_users_mistake(values: flags.FlagValues) -> None:
    cli.parse(["bake", "--loaves=-1"], values)
    with pytest.raises(UserError, match="received --loaves=-1: expected at least 0"):
        cli.config_from_flags(Bakery, values)


def test_unknown_arguments_are_passed_on_when_allowed(values: flags.FlagValues) -> None:
    rest = cli.parse(["bake", "--project=p", "--loaves=1", "--x"], values, allow_unknown=True)
    assert rest == ["bake", "--project=p", "--x"]


def test_help_shows_our_flags_with_units_and_defaults_and_no_others(
    values: flags.FlagValues,
) -> None:
    flags.DEFINE_string("internal", None, "not ours", values)
    text = flag_help.format_help(values)
    for part in ("What is baked.", "--loaves=N", "loaves an hour (§1) (default: 3)", "--[no]open"):
        assert part in text
    for part in ("--flour=rye|wheat", "salt (g) (default: unset)", "--flagfile=FILE"):
        assert part in text
    assert "internal" not in text


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [
        (UserError("no file x:\n expected y"), 2, "error: no file x: expected y"),
        (KeyboardInterrupt(), 130, "error: interrupted; run it again\n"),
        (FileNotFoundError(2, "No such file or directory", "a/b"), 2, "error: cannot use a/b: No"),
        (
            OSError(28, "No space left on device", "a/b"),
            2,
            "error: cannot write a/b: No space left on device; free some space; run it again\n",
        ),
        (OSError(28, "No space left on device"), 2, "error: cannot write to the disk: No space"),
    ],
)
def test_a_users_mistake_is_one_line_and_an_exit_code(
    raised: BaseException,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def main(argv: list[str]) -> None:
        raise raised

    monkeypatch.setattr("sys.argv", ["bake"])
    with pytest.raises(SystemExit) as exit_:
        cli.run(main, to_continue="run it again")
    error = capsys.readouterr().err
    assert exit_.value.code == code
    assert error.startswith(line) and error.count("\n") == 1


def test_an_unexpected_error_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def main(argv: list[str]) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("sys.argv", ["bake"])
    with pytest.raises(ZeroDivisionError):
        cli.run(main)


def test_a_reader_that_closes_standard_output_is_no_error() -> None:
    code = (
        "import sys; from pipeline.common import cli; sys.argv[1:] = []\n"
        "cli.run(lambda argv: [print('line', flush=True) for _ in range(100_000)] and None)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@dataclasses.dataclass(frozen=True)
class Town:
    """Where one lives."""

    mayor: str = setting("Ada", "who governs")
    bakery: Bakery = setting(Bakery(), "its bread")


def test_a_configuration_inside_another_is_a_group_of_flags() -> None:
    values = flags.FlagValues()
    cli.define_flags(Town, values)
    cli.parse(["live", "--mayor=Grace", "--loaves=7"], values)
    assert cli.config_from_flags(Town, values) == Town(mayor="Grace", bakery=Bakery(loaves=7))
    assert {
        flag_help.group_name(Town),
        flag_help.group_name(Bakery),
    } <= values.flags_by_module_dict().keys()


def test_a_value_that_an_inner_configuration_refuses_is_a_users_mistake() -> None:
    values = flags.FlagValues()
    cli.define_flags(Town, values)
    cli.parse(["live", "--loaves=-1"], values)
    with pytest.raises(UserError, match="received --loaves=-1: expected at least 0"):
        cli.config_from_flags(Town, values)
