"""The one exception that means: the user can put this right. Raised everywhere, shown by `cli`."""


class UserError(Exception):
    """A mistake of the user's: one line with what was received, what was expected, the remedy."""
