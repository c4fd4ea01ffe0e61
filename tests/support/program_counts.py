"""A plugin of pytest that counts the programs that tests ask the compiler for, and shows where their time goes.

Counted are JAX's own events, in this process or in all workers of pytest-xdist; processes that tests start are not.
``--programs`` prints a table by module, ``--most-programs N`` makes a run fail that asks for more than N.
"""

from __future__ import annotations

import collections
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

#: The event of a program that is compiled or taken from JAX's persistent cache.
COMPILE = "/jax/core/compile/backend_compile_duration"
#: The events of JAX that are timed, with their names in the table.
EVENTS = {
    COMPILE: "compile",
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
}
#: The columns of the table behind the number of programs, in seconds; "children" is the CPU time of processes.
COLUMNS = (*EVENTS.values(), "else", "all", "children")
#: Programs that are listed by name.
_NAMES = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the flags."""
    group = parser.getgroup("programs")
    group.addoption("--programs", action="store_true", help="print programs and seconds of each module")
    group.addoption("--most-programs", type=int, metavar="N", help="fail if the compiler is asked for more programs")


def pytest_configure(config: pytest.Config) -> None:
    """Starts the counts of this process."""
    config.pluginmanager.register(Programs(config), "program-counts-of-this-run")


class Programs:
    """Counts and seconds by module: those of this process, and in the main process those of all workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.totals: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.names: collections.Counter[str] = collections.Counter()
        self.module = "collection"
        self.listening = False

    def listen(self) -> None:
        """Asks JAX for its events, once it has been imported."""
        if not self.listening and "jax" in sys.modules:
            import jax.monitoring

            jax.monitoring.register_event_duration_secs_listener(self.heard)
            self.listening = True

    def heard(self, event: str, seconds: float, **details: Any) -> None:
        """Counts an event of JAX."""
        if name := EVENTS.get(event):
            self.totals[self.module][name] += seconds
            if event == COMPILE:
                self.totals[self.module]["programs"] += 1
                self.names[f"{self.module} {details.get('fun_name', '?')}"] += 1

    def pytest_collection_finish(self) -> None:
        """Listens from here on: the modules of tests have imported JAX."""
        self.listen()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Times a test, with its fixtures."""
        self.listen()
        self.module = item.location[0].rpartition("/")[2]
        start, before = time.perf_counter(), os.times()
        try:
            return (yield)
        finally:
            after, totals = os.times(), self.totals[self.module]
            totals["tests"] += 1
            totals["all"] += time.perf_counter() - start
            totals["children"] += sum(after[2:4]) - sum(before[2:4])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Gives a worker's counts to the main process, where too many programs are a failure."""
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["programs"] = (
                {module: dict(totals) for module, totals in self.totals.items()},
                dict(self.names),
            )
        elif self.too_many() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Adds a worker's counts."""
        modules, names = getattr(node, "workeroutput", {}).get("programs", ({}, {}))
        for module, totals in modules.items():
            self.totals[module].update(totals)
        self.names.update(names)

    def asked(self) -> int:
        """The number of programs that the compiler was asked for."""
        return sum(totals["programs"] for totals in self.totals.values())

    def too_many(self) -> bool:
        """Whether they are more than the flag allows."""
        most = self.config.getoption("most_programs")
        return most is not None and self.asked() > most

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints the number of programs, and the table if it is wanted."""
        say = terminalreporter.write_line
        if self.config.getoption("programs"):
            say(f"{'module':32}" + "".join(f"{name:>10}" for name in ("tests", "programs", *COLUMNS)))
            whole: collections.Counter[str] = collections.Counter()
            for module, totals in sorted(self.totals.items(), key=lambda pair: -pair[1]["all"]):
                whole.update(totals)
                say(_row(module, totals))
            say(_row("all", whole))
            for name, count in self.names.most_common(_NAMES):
                say(f"{count:6} {name}")
        if self.asked():
            most = self.config.getoption("most_programs")
            limit = "" if most is None else f"; at most {most:,} are allowed"
            say(f"{self.asked():,} programs were asked of the compiler{limit}", red=self.too_many())


def _row(module: str, totals: collections.Counter[str]) -> str:
    """A line of the table."""
    rest = totals["all"] - sum(totals[name] for name in EVENTS.values())
    seconds = "".join(f"{rest if name == 'else' else totals[name]:10.1f}" for name in COLUMNS)
    return f"{module:32}{totals['tests']:10}{totals['programs']:10}{seconds}"
