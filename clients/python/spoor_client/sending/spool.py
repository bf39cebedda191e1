"""
Keeps traces on disk, one file each, until the server has stored them. Files that no process is sending are in the
folder itself. Before sending files, a process moves them into its own subfolder, which is named for its host and
process id. Only one process can rename a file, so two processes never send the same file. Folders of dead processes are
taken over: at once if the process id is free on this host, otherwise once the folder has not been touched for a minute.
The TypeScript client and `spoor send` do the same. A file's name identifies its owner (owner.py). Files recorded with
another project's key are left to that project's clients.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .delivery import Delivery, Part, file_text, read_file_text
from .owner import ENDING, Claim, Owner, key_id_of

DEFAULT_MAX_BYTES = 256 * 1024 * 1024
#: Suffix of a file that is not a complete trace. The file is kept for inspection.
_BROKEN = ".broken"
_TEMPORARY = ".part"
_SENDER = re.compile(r"^sender-(.+)-(\d+)-[0-9a-f]{8}$")
_GONE_AFTER_SECONDS = 60.0
#: Folders of this process, which may have several clients.
_own_folders: set[str] = set()


class SpoolError(Exception):
    """Raised if the spool accepts no more data, with the reason."""


@dataclass
class Found:
    """The result of a check of the spool."""

    #: Files that were taken, oldest first.
    adopted: list[Delivery] = field(default_factory=list)
    #: Number of remaining files, by the id of their key.
    others: Counter[str] = field(default_factory=Counter)
    #: Number of remaining files that name no key.
    unnamed: int = 0
    #: Whether some files may belong to this client, which only the server can determine.
    asks: bool = False
    #: Whether some files may belong to this client unless another client is created.
    is_unsettled: bool = False


class Spool:
    def __init__(self, folder: str | os.PathLike[str], owner: Owner, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.folder = Path(folder).absolute()
        self.owner = owner
        self.max_bytes = max_bytes
        self._host = re.sub(r"[^\w.]", "_", socket.gethostname(), flags=re.ASCII)[:64]
        self.forget()

    def forget(self) -> None:
        """Called in a forked process. The folder belongs to the parent process."""
        self.own = self.folder / f"sender-{self._host}-{os.getpid()}-{os.urandom(4).hex()}"
        _own_folders.add(self.own.name)
        self._sizes: dict[Path, int] = {}
        self._bytes = 0
        self._written = 0

    def write(self, delivery: Delivery) -> None:
        """Writes a delivery whose parts are all in memory, replacing its file, if any. Raises SpoolError."""
        text = file_text(delivery)
        before = 0 if delivery.file is None else self._sizes.get(delivery.file, 0)
        if self._bytes - before + len(text) > self.max_bytes:
            raise SpoolError(f"the spool is full: it has {self._bytes:,} of {self.max_bytes:,} bytes")
        self._written += 1
        name = f"{time.time_ns() // 1_000_000}-{delivery.trace_id}-{os.getpid()}-{self._written}{self.owner.mark}"
        file = delivery.file or self.own / name
        try:
            self.own.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_whole(file, text)
        except OSError as error:
            raise SpoolError(f"the spool cannot be written: {error.strerror or error}") from error
        self._count(file, len(text))
        delivery.file = file

    def read(self, file: Path) -> list[Part] | None:
        """
        Returns None if the file is gone, because another process has taken it, or if it is incomplete. An incomplete
        file is set aside. Raises OSError.
        """
        try:
            text = file.read_bytes()
        except FileNotFoundError:
            self._count(file, 0)
            return None
        found = read_file_text(text)
        if found is None:
            os.replace(file, self.folder / f"{file.name}{_BROKEN}")
            self._count(file, 0)
            return None
        return found[2]

    def remove(self, file: Path) -> None:
        try:
            file.unlink(missing_ok=True)
        except OSError:  # The next process sends it again, which has no effect.
            return
        self._count(file, 0)

    def adopt(self, *, is_settled: bool = True) -> Found:
        """
        Takes the files of this client's owner that no process is sending. `is_settled`: the process has had time to
        create all its clients, so no other client can own a file.
        """
        found = Found()
        for name in _names_in(self.folder):
            if name.endswith(ENDING):
                self._consider(self.folder / name, found, is_settled)
            elif _SENDER.match(name) and self._is_gone(name):
                for each in _names_in(self.folder / name):
                    if each.endswith(ENDING):
                        self._consider(self.folder / name / each, found, is_settled)
                    else:
                        _attempt_unlink(self.folder / name / each)
                _attempt_rmdir(self.folder / name)
        return found

    def _consider(self, file: Path, found: Found, is_settled: bool) -> None:
        claim = self.owner.claim(file.name, self.folder)
        key_id = key_id_of(file.name)
        if claim is Claim.ASK:
            found.asks = True
        elif not is_settled and (key_id is None or claim is Claim.OTHER):
            found.is_unsettled = True
        elif claim is Claim.OTHER and key_id is not None:
            found.others[key_id] += 1
        elif claim is Claim.UNNAMED:
            found.unnamed += 1
        elif claim is Claim.TAKE:
            self._take(file, found.adopted)

    def touch(self) -> None:
        """Shows that this process is still running."""
        try:
            os.utime(self.own)
        except OSError:
            pass

    def release(self) -> None:
        """Leaves unsent files to the next process."""
        for name in _names_in(self.own):
            if name.endswith(ENDING):
                try:
                    os.rename(self.own / name, self.folder / self.owner.complete(name))
                except OSError:
                    pass
        _attempt_rmdir(self.own)
        self._sizes.clear()
        self._bytes = 0

    def _take(self, source: Path, adopted: list[Delivery]) -> None:
        file = self.own / source.name
        matched = re.match(r"^\d+-([0-9a-f]{32})\b", source.name)
        if matched is None:
            return
        try:
            self.own.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.rename(source, file)
            self._count(file, file.stat().st_size)
        except OSError:  # Another process took it first.
            return
        adopted.append(
            Delivery(matched[1], "from the spool", file=file, is_unloaded=True, is_file_behind=False, is_left=True)
        )

    def _is_gone(self, name: str) -> bool:
        matched = _SENDER.match(name)
        if matched is None:
            return False
        host, pid = matched[1], int(matched[2])
        if name in _own_folders and pid == os.getpid():
            return False
        # A restarted container has the same host name and process ids.
        if host == self._host and (pid == os.getpid() or not _is_running(pid)):
            return True
        try:
            return time.time() - (self.folder / name).stat().st_mtime > _GONE_AFTER_SECONDS
        except OSError:
            return False

    def _count(self, file: Path, size: int) -> None:
        self._bytes += size - self._sizes.pop(file, 0)
        if size > 0:
            self._sizes[file] = size


def _write_whole(file: Path, text: bytes) -> None:
    temporary = file.with_name(file.name + _TEMPORARY)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as stream:
            stream.write(text)
        os.replace(temporary, file)
    except BaseException:
        _attempt_unlink(temporary)
        raise


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _attempt_unlink(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError:
        pass


def _attempt_rmdir(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        pass


def _is_running(pid: int) -> bool:
    if os.name == "nt":  # On Windows, 0 is a signal like any other.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # The process belongs to another user.
        return True
    return True
