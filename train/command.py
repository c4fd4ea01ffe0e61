"""What the command lines of training share: flags, devices, and the exit status of every way in which a run ends."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence

import jax

from jaxsudoku.batches import usable_cores
from jaxsudoku.generation import GenerationError
from jaxsudoku.terminal.failure import described
from jaxsudoku.terminal.stop import Stop

from .flags import ConfigT, parse_arguments
from .positions import fitting_devices


def run_command(
    program: str,
    description: str,
    presets: Mapping[str, ConfigT],
    argv: Sequence[str] | None,
    run: Callable[[ConfigT, argparse.Namespace], object],
    check_devices: Callable[[ConfigT, int], object],
    add_flags: Callable[[argparse.ArgumentParser], None] = lambda parser: None,
) -> int:
    """Runs a command line, as ``parse_arguments`` reads it.

    Args:
      program, description, presets, argv, add_flags: as for ``parse_arguments``.
      run: what is run, with the settings and the other arguments.
      check_devices: raises ValueError if a run with these settings can't be divided among so many devices.

    Returns:
      the exit status: 0, 1 if training failed, 2 after a usage error. A signal ends the process with 128 + the signal.
    """
    config, args = parse_arguments(program, description, presets, argv, add_flags)
    if args.devices or "JAX_NUM_CPU_DEVICES" not in os.environ:
        devices = args.devices or fitting_devices(functools.partial(check_devices, config), usable_cores())
        jax.config.update("jax_num_cpu_devices", devices)
    try:
        run(config, args)
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
