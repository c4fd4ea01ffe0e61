"""Text files that grow by whole lines, plain or gzip, under a lock; what an earlier run left may be kept."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import BinaryIO

from .resume import SAMPLE, Recovered, recover
from .source import Source, gzip_member
from .target import STDOUT, Kind, check_new, check_target, is_special, locked, open_target, standard_output


class LineFile:
    """An output of lines; made by ``open_lines``.

    Attributes:
      found: what an earlier run left.
      resumed: whether there was an output of an earlier run.
      held: closes the file and drops its lock.
    """

    def __init__(self, file: BinaryIO, name: str, compressed: bool, found: Recovered | None) -> None:
        self.found, self.resumed = found or Recovered(), found is not None
        self.file, self._name, self._compressed = file, name, compressed
        self.held = contextlib.ExitStack()
        self._begun = False

    def put(self, lines: bytes) -> None:
        """Appends whole lines, gzip as a member of its own; they are in the file when this returns.

        Raises:
          OSError: writing failed (a full disk); a file then ends with the whole lines before, as far as it can be cut.
        """
        self.begin()
        data = memoryview(gzip_member(lines) if self._compressed else lines)
        whole = self.file.tell() if self.file.seekable() and self._name != STDOUT else None
        try:
            while data:  # an unbuffered file may take less than it is given
                data = data[self.file.write(data) :]
            self.file.flush()
        except OSError:
            if whole is not None and not is_special(self._name):
                self.file.truncate(whole)
                self.file.seek(whole)
            raise

    def begin(self) -> None:
        """Cuts off what was half written when the run before was killed: not earlier, so that a check may refuse."""
        if self.resumed and not self._begun:
            self.file.truncate(self.found.keep)
            self.file.seek(self.found.keep)
        self._begun = True

    def finish(self, ending: bytes = b"") -> None:
        """Appends an ending, if any. An output without a line is still one: a gzip file has a member."""
        nothing = self._compressed and not self._begun and not self.found.keep
        if ending or nothing:
            self.put(ending)
        self.begin()

    def close(self) -> None:
        """Closes the file and drops the lock, whatever was written; does nothing the second time."""
        self.held.close()


def open_lines(
    name: str,
    kind: Kind,
    compressed: bool,
    columns: tuple[str, ...],
    *,
    heading: bytes = b"",
    reads: Iterable[Source] = (),
    resume: bool = False,
    force: bool = False,
    resumable: bool = True,
    sample: int = SAMPLE,
) -> LineFile:
    """Opens an output of lines, which is changed only when something is put.

    Args:
      name: a path, or ``-`` for the standard output.
      kind: ``text`` or ``csv``.
      compressed: whether it is gzip.
      columns: of a CSV, those that its header begins with.
      heading: of a text, the comments with which it begins.
      reads: the inputs, which are never written over.
      resume: keep the whole lines of an output that an earlier run left.
      force: replace an existing output.
      resumable: whether to advise to resume.
      sample: how many lines from either end of what is kept are given as ``found.samples``.

    Raises:
      ValueError, OSError: as ``check_target`` and ``OutputLock`` do; FileExistsError as ``check_new`` does.
      ResumeError: the output to resume is none of this kind.
    """
    check_target(name, reads=reads)
    if name == "-":
        return LineFile(standard_output(), STDOUT, compressed, None)
    with contextlib.ExitStack() as held:
        held.enter_context(locked(name))
        if not (resume or force):
            check_new(name, resumable=resumable)
        # only files hold answers of an earlier run: devices and pipes exist, too, but start anew
        kept = resume and os.path.isfile(name)
        found = recover(name, kind, compressed, columns, sample, heading) if kept else None
        file = held.enter_context(open_target(name, keep=kept))
        opened = LineFile(file, name, compressed, found)
        opened.held = held.pop_all()
    return opened
