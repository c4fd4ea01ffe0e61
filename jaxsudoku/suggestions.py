"""Suggestions for misspelt names, for the messages of errors. No JAX."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """A question that ends an error's message, such as "; did you mean 'exact'?"; empty if no known name is close.

    Args:
      name: the unknown name.
      known: the names that there are.
    """
    import difflib  # which is needed for errors alone

    names = {other.lower(): other for other in known}
    close = difflib.get_close_matches(str(name).lower(), names, n=1, cutoff=0.6)
    return f"; did you mean {names[close[0]]!r}?" if close else ""
