"""What the command lines of training share: the exit status and the message of every way in which a run ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from jaxsudoku.generation import GenerationError
from jaxsudoku.terminal.failure import described
from jaxsudoku.terminal.stop import Stop


def exit_status(run: Callable[[], object]) -> int:
    """Runs training: 0, 1 if it failed, 2 after a usage error; a signal ends the process with 128 + the signal."""
    try:
        run()
    except Stop as stop:
        print(f"train: stopped by {stop.signal.name}; {stop.advice}", file=sys.stderr, flush=True)
        os._exit(128 + stop.signal)  # a usual exit would wait for threads that can't be interrupted
    except (OSError, ValueError, ImportError) as error:
        print(f"train: error: {described(error)}", file=sys.stderr)
        return 2
    except (FloatingPointError, GenerationError) as error:
        print(f"train: error: {error}", file=sys.stderr)
        return 1
    return 0
