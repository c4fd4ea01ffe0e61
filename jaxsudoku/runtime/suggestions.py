"""Names that users give: which known name one means, and suggestions for misspelt ones. No JAX."""

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


def known_name(what: str, name: object, known: Iterable[str]) -> str:
    """The known name that a user's name means: in any case, its words joined by spaces, dashes or underscores.

    Args:
      what: what has the name, such as "technique", for messages.
      name: the name.
      known: the names that there are, in lower case, their words joined by dashes.

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
