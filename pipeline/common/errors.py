"""The exception for mistakes that the user can correct: raised everywhere, shown by `cli`."""


class UserError(Exception):
    """A user's mistake in one line: what was received, what was expected, the remedy."""
