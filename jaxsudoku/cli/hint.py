"""``jaxsudoku hint``: the next step of a puzzle."""

from __future__ import annotations

import dataclasses
import json
import sys

from jaxsudoku.runtime.terminal.progress import Screen

from . import flags
from .explain import Explaining, proper_puzzle
from .inputs import one_puzzle
from .invocation import Invocation
from .outputs import put
from .parser import flag

EPILOG = f"""\
examples:
  jaxsudoku hint puzzles.txt --index 3
  jaxsudoku hint puzzles.txt --output hint.png
  jaxsudoku hint 4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......

output: the reason of the first step of `jaxsudoku explain`, in a sentence; with --json the step, or null where there is
none, as the puzzle is complete or no technique helps. With --output FILE.png, .svg, .pdf or .html it is a picture with
the sentence; there must be a step.

{flags.INPUT_SECTION}"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Explaining):
    """What ``hint`` is asked for."""

    json: bool = flag("the step as JSON", default=False, exclusive="form")


def run(request: Request, invocation: Invocation) -> int:
    """Prints the step; the exit status."""
    del invocation
    proper = proper_puzzle(one_puzzle(request), request.up_to)
    if proper is None:
        return 1
    from jaxsudoku.explanation import steps_of

    step = next(steps_of(*proper), None)
    if request.output != "-" and step is not None:
        step.save(request.output)
        return 0
    if request.json:
        text = json.dumps(None if step is None else step.as_dict())
    elif step is None:
        text = "No cell is open." if proper.puzzle.all() else "No technique helps."
    else:
        text = step.text
    if request.output != "-":
        Screen(bar=True).say(f"{text} {request.output} is not written.")
        return 1
    put(sys.stdout.buffer, f"{text}\n", "<stdout>")
    return 0
