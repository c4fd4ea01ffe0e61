"""Description of the machine: cores, memory, versions."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import resource
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def keep_to_cores(cores: str) -> int:
    """Restricts this process to a number of cores ("all" for no restriction); returns the resulting number.

    Call it before importing jax, whose thread pools depend on the number of cores.

    Raises:
      ValueError: no number, or more cores than there are.
      OSError: the system can't restrict a process.
    """
    if not hasattr(os, "sched_setaffinity"):
        if cores == "all":
            return os.cpu_count() or 1
        raise OSError("this system can't restrict a process to some cores; leave --cores out")
    ours = sorted(os.sched_getaffinity(0))
    if cores != "all":
        number = int(cores)
        if not 1 <= number <= len(ours):
            raise ValueError(f"--cores {cores}: this process may use {len(ours)}")
        os.sched_setaffinity(0, ours[:number])
    return len(os.sched_getaffinity(0))


def forget_peak() -> None:
    """Resets the peak of the resident memory, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_mib() -> float:
    """Peak of the resident memory in MiB, since ``forget_peak`` where that works, else over the process' life."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return life_peak_mib()


def life_peak_mib() -> float:
    """Peak of the resident memory in MiB over the process' life, compilation included."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if platform.system() == "Darwin" else 1 << 10)


def describe(cores: int, packages: Iterable[str]) -> dict[str, Any]:
    """Date, machine, devices, versions, commit; imports jax and starts its backend.

    Args:
      cores: the number of cores in use.
      packages: further distributions whose versions are added.
    """
    import jax

    devices = jax.devices()
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "cpu": _cpu_model(),
        "cores": cores,
        "load": [round(load, 2) for load in os.getloadavg()],
        "devices": [f"{device.platform}: {device.device_kind}" for device in devices],
        "driver": _driver() if devices[0].platform == "gpu" else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in ("jaxsudoku", "jax", "jaxlib", "numpy", *packages)},
        "environment": {name: value for name, value in os.environ.items() if name.startswith(("JAX_", "XLA_"))},
    }


def lines(about: dict[str, Any]) -> list[str]:
    """``describe`` as a few lines of text."""
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items() if version)
    driver = f", driver {about['driver']}" if about["driver"] else ""
    settings = "".join(f"\n  {name}={value}" for name, value in about["environment"].items())
    return [
        f"device   {'; '.join(about['devices'])}{driver}",
        f"cpu      {about['cpu']}, {about['cores']} core{'s' * (about['cores'] > 1)} in use, load {about['load'][0]}",
        f"versions python {about['python']}, {versions}",
        f"commit   {about['commit']}, {about['date']}{settings}",
    ]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _output(*command: str) -> str | None:
    """The standard output of a command; None if it fails."""
    here = Path(__file__).parent
    try:
        ran = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout.strip()


def _commit() -> str:
    commit = _output("git", "rev-parse", "--short=12", "HEAD")
    if not commit:
        return "unknown"
    return commit + " and changes" * bool(_output("git", "status", "--porcelain", "--untracked-files=no"))


def _driver() -> str | None:
    answer = _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return answer.splitlines()[0] if answer else None
