"""Common code of the command lines of training: flags, devices and exit statuses."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence

import jax

from jaxsudoku import distributed
from jaxsudoku.generation import GenerationError
from jaxsudoku.runtime.devices import usable_cores
from jaxsudoku.runtime.terminal.failure import described
from jaxsudoku.runtime.terminal.stop import Stop
from jaxsudoku.runtime.terminal.streams import print_error

from .flags import ConfigT, parse_arguments
from .positions import fitting_devices
from .processes import HEARTBEAT_TIMEOUT, ProcessError, joined


def run_command(
    program: str,
    description: str,
    presets: Mapping[str, ConfigT],
    argv: Sequence[str] | None,
    run: Callable[[ConfigT, argparse.Namespace], object],
    check_devices: Callable[[ConfigT, int], object],
    add_flags: Callable[[argparse.ArgumentParser], None] = lambda parser: None,
) -> int:
    """Runs a command line of training.

    Args:
      program, description, presets, argv, add_flags: as in ``parse_arguments``.
      run: the function to run, with the settings and the other arguments.
      check_devices: raises ValueError if a run with these settings can't be divided among this many devices.

    Returns:
      the exit status: 0, 1 if training failed, 2 after a usage error. A signal ends the process with 128 + the signal.
    """
    config, args = parse_arguments(program, description, presets, argv, add_flags)
    try:
        if args.distributed or args.coordinator is not None:
            _join(args)
        if args.devices or "JAX_NUM_CPU_DEVICES" not in os.environ:
            devices = args.devices or fitting_devices(
                lambda devices: check_devices(config, devices * joined()), usable_cores()
            )
            jax.config.update("jax_num_cpu_devices", devices)
        run(config, args)
    except Stop as stop:
        print_error(f"train: stopped by {stop.signal.name}; {stop.advice}")
        os._exit(128 + stop.signal)  # a normal exit would wait for threads that can't be interrupted
    except (OSError, ValueError, ImportError) as error:
        return _failed(described(error), 2)
    except (FloatingPointError, GenerationError) as error:
        return _failed(str(error), 1)
    except ProcessError as error:
        return _failed(str(error), error.status)
    return 0


def _join(args: argparse.Namespace) -> None:
    """Joins the other processes of the run."""
    jax.config.update("jax_enable_preemption_service", False)  # it would handle SIGTERM
    distributed.start(args.coordinator, args.processes, args.process, heartbeat_timeout=HEARTBEAT_TIMEOUT)


def _failed(message: str, status: int) -> int:
    """Reports an error; returns the exit status. One of several processes ends here, as a normal exit would wait."""
    print_error(f"train: error: {message}")
    if joined() > 1:
        distributed.end_at_once(status)
    return status
