"""The exceptions that the user can act on: raised everywhere, shown by `cli` in one line."""

import errno

FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
TO_CONTINUE = "running the same command again continues the work"


class UserError(Exception):
    """A user's mistake in one line: what was received, what was expected, the remedy."""


class ResumableError(UserError):
    """A failure that is no mistake in flags or inputs: the same command continues the work."""
