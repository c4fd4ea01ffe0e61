"""Runs the command line in this process."""

from __future__ import annotations

from jaxsudoku.cli import main


def run(capsys, *argv):
    """Exit status, standard output and standard error."""
    try:
        code = main(list(argv))
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    return code, out, err
