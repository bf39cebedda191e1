"""
Determines who owns a spool entry. An entry's name ends with the id of the recording key and, once the server has
described that key, a digest of server, project and environment. An entry is never sent to another project. Only clients
with the same key, or with a key of the same project and environment (as after a rotation), take the entry. The
TypeScript client uses the same names.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from .answers import read_json
from .connection import Server

ENDING = ".spoor"
#: Matches the public id in a key. The secret follows the id.
_KEY_ID = re.compile(r"_live_([0-9A-Za-z]{16})_[0-9A-Za-z]{43}$")
_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
_THIS_MACHINE = ("127.0.0.1", "::1")

#: Ids of all keys that this process has used, each with the spool folders of its open clients.
_spools: dict[str, set[Path]] = {}


class Claim(enum.Enum):
    """How a client treats an entry that no process is sending."""

    TAKE = "it is ours"
    ASK = "the server must first say which project and environment our key belongs to"
    SPARE = "another client of this process takes it"
    OTHER = "it was recorded with another key"
    UNNAMED = "an earlier version did not record its owner, and this process has several keys"


class Owner:
    def __init__(self, server: Server) -> None:
        matched = _KEY_ID.search(server.key)
        # A key in another format, such as a key that a proxy translates, gets an id that does not reveal the key.
        self.key_id = matched[1] if matched else _digest(server.key)
        self._server = _server_name(server.url)
        #: None until the server has described the key.
        self.destination: str | None = None

    def register(self, folder: Path | None) -> None:
        """Registers a client of this process with its key and, if any, its spool folder."""
        folders = _spools.setdefault(self.key_id, set())
        if folder is not None:
            folders.add(folder)

    def unregister(self, folder: Path) -> None:
        """Removes a closed client, so that other clients may take its entries."""
        _spools.get(self.key_id, set()).discard(folder)

    def learn(self, answer: bytes) -> bool:
        """Reads the response to `GET /api/v1/key`. Returns whether it was valid."""
        said = read_json(answer) or {}
        project, environment = said.get("projectId"), said.get("environment")
        if not isinstance(project, str):
            return False
        self.destination = _digest("\n".join((self._server, project, environment or "")))
        return True

    @property
    def mark(self) -> str:
        """Returns the suffix of an entry's name."""
        return f"-{self.key_id}{'' if self.destination is None else f'-{self.destination}'}{ENDING}"

    def complete(self, name: str) -> str:
        """Adds the destination to an entry's name if the server has described the key since."""
        end = f"-{self.key_id}{ENDING}"
        return name[: -len(end)] + self.mark if name.endswith(end) else name

    def claim(self, name: str, folder: Path) -> Claim:
        key_id, destination = key_id_of(name), _part_of(name, 5)
        if key_id is None:
            return Claim.UNNAMED if len(_spools) > 1 else Claim.TAKE
        if key_id == self.key_id or (destination is not None and destination == self.destination):
            return Claim.TAKE
        if folder in _spools.get(key_id, ()):
            return Claim.SPARE
        return Claim.ASK if destination is not None and self.destination is None else Claim.OTHER


def key_id_of(name: str) -> str | None:
    """Returns the id of the key that recorded an entry; None in names of version 1.0.0-rc.1."""
    return _part_of(name, 4)


def _part_of(name: str, place: int) -> str | None:
    """Splits a name into time, trace, process, number, key and destination."""
    parts = name[: -len(ENDING)].split("-")
    return parts[place] if place < len(parts) else None


def _server_name(url: str) -> str:
    """Returns host, port and path. All names of this machine compare as equal, and each scheme has a default port."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    name = "localhost" if host in _THIS_MACHINE else f"[{host}]" if ":" in host else host
    return f"{name}:{parts.port or _PORTS.get(parts.scheme)}{parts.path.rstrip('/')}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
