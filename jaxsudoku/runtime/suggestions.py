"""Matching of user-supplied names with known ones, and suggestions for misspelt names. No JAX."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of an error message, such as "; did you mean 'exact'?"; empty if no known name is close.

    Args:
      name: the unknown name.
      known: the known names.
    """
    import difflib  # needed for errors only

    names = {other.lower(): other for other in known}
    close = difflib.get_close_matches(str(name).lower(), names, n=1, cutoff=0.6)
    return f"; did you mean {names[close[0]]!r}?" if close else ""


def known_name(what: str, name: object, known: Iterable[str]) -> str:
    """Matches a user's name with a known one, ignoring case; words may be joined by spaces, dashes or underscores.

    Args:
      what: the kind of thing named, such as "technique", for messages.
      name: the name.
      known: the known names, in lower case, their words joined by dashes.

    Raises:
      ValueError: it is no text, or there is no such name; the message lists them.
    """
    if not isinstance(name, str):
        raise ValueError(f"{what} must be a word, not {name!r}")
    names = list(known)
    wanted = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    if wanted not in names:
        hint = did_you_mean(wanted, names)
        raise ValueError(f"unknown {what} {name!r}: choose one of {', '.join(names)}{hint}")
    return wanted
