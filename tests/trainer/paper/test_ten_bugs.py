"""Each of the ten bugs breaks the test that the table names."""

import pytest

from tests.helpers.mutation import edited, outcomes
from trainer.paper.ten_bugs import TEN_BUGS, Edit

EDITS = {f"{bug.name}, {edit.file}": edit for bug in TEN_BUGS for edit in bug.edits}


@pytest.mark.heavy
@pytest.mark.usefixtures("eight_cpus")  # of which some of the tests use two
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_the_named_test_fails_with_the_bug_and_passes_with_our_line(edit: Edit) -> None:
    ours = outcomes(edit.test)
    assert ours and {outcome for outcome, _ in ours} == {"passed"}, ours
    with edited(edit.file, edit.ours, edit.broken):
        broken = outcomes(edit.test)
    failures = [message for outcome, message in broken if outcome == "failed"]
    assert failures, f"{edit.test} does not notice"
    assert all(message.startswith(("AssertionError", "assert")) for message in failures), failures
