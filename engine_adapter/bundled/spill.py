"""States of read prompts on disk: encrypted with a key that only this process has, bounded, and
never more than a cache. Whatever goes wrong with a file is a miss.

Knows neither tokens nor llama.cpp; a state is bytes under a number.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from engine_adapter.bundled.folder import Folder

CHUNK = 1 << 20  # bytes sealed at once: little memory, and far from the cipher's 2 GiB a call
TAG = 16  # bytes that GCM adds to a chunk
MOST_WAITING = 2  # states that wait in memory to be written, beside the one being written


@dataclass(slots=True, eq=False)
class _Entry:
    """A state, in memory until it is written. ``number`` is never used twice by a process."""

    key: int
    number: int
    name: str
    size: int
    state: memoryview | None

    @property
    def chunks(self) -> int:
        return max(1, -(-self.size // CHUNK))

    @property
    def file_bytes(self) -> int:
        return self.size + self.chunks * TAG

    @property
    def owner(self) -> bytes:
        """What a chunk is bound to beside its nonce, so that no file passes for another's."""
        return str(self.key).encode()

    def nonce(self, index: int) -> bytes:
        """Unique under the process's key, as GCM demands: the entry's number, the chunk's index."""
        return self.number.to_bytes(8) + index.to_bytes(4)


class Spill:
    """States in a folder of its own inside ``directory``, which several processes may share.

    The folder is gone after ``close``; what a killed process left goes with the next ``Spill``
    or ``folder.sweep`` there. All files together take ``limit_bytes`` at most; the state that was
    put first goes first. The methods are for one thread; a second one, inside, writes and
    deletes. Raises ``OSError`` where no folder can be made.
    """

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self._folder = Folder(directory)
        self._limit = limit_bytes
        self._cipher = AESGCM(AESGCM.generate_key(256))
        self._entries: dict[int, _Entry] = {}  # oldest first
        self._numbers = 0
        self._bytes = 0
        self._wake = threading.Condition()
        self._waiting: deque[_Entry] = deque()
        self._doomed: deque[str] = deque()
        self._lost: list[int] = []
        self._closed = False
        self._writer = threading.Thread(target=self._work, name="spill", daemon=True)
        self._writer.start()

    @property
    def bytes(self) -> int:
        """What the files take, those still to be written included."""
        return self._bytes

    def put(self, key: int, state: memoryview) -> bool:
        """Keep ``state`` in place of what ``key`` had; its buffer must not change any more.

        False where nothing is kept: the state is larger than all may be, or the disk is behind.
        """
        entry = _Entry(key, self._numbers, secrets.token_hex(16), state.nbytes, state.cast("B"))
        with self._wake:
            self._forget(key)
            if self._closed or entry.file_bytes > self._limit:
                return False
            if len(self._waiting) >= MOST_WAITING:
                return False
            self._numbers += 1
            while self._bytes + entry.file_bytes > self._limit:
                oldest = next(iter(self._entries))
                self._forget(oldest)
                self._lost.append(oldest)
            self._entries[key] = entry
            self._bytes += entry.file_bytes
            self._waiting.append(entry)
            self._wake.notify()
        return True

    def take(self, key: int) -> memoryview | None:
        """The state of ``key``, which is not kept any longer; None for a miss."""
        with self._wake:
            entry = self._entries.get(key)
            if entry is None:
                return None
            state = entry.state
            if state is not None:
                self._forget(key)
                return state
        try:
            return self._read(entry)
        except (OSError, InvalidTag, MemoryError):
            return None
        finally:
            self.drop(key)

    def lost(self) -> list[int]:
        """The keys that were given up without being asked for since this was last asked."""
        with self._wake:
            lost, self._lost = self._lost, []
        return lost

    def drop(self, key: int) -> None:
        """Forget ``key``; nothing where it is not kept."""
        with self._wake:
            self._forget(key)

    def close(self) -> None:
        """Forget everything and remove the folder."""
        with self._wake:
            self._closed = True
            for key in list(self._entries):
                self._forget(key)
            self._wake.notify()
        if self._writer.is_alive():
            self._writer.join()
            self._folder.remove()

    def _forget(self, key: int) -> None:
        """The lock is held. The file is deleted by the writer: that can take long."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self._bytes -= entry.file_bytes
        if entry in self._waiting:
            self._waiting.remove(entry)
        else:
            self._doomed.append(entry.name)
            self._wake.notify()

    def _work(self) -> None:
        while True:
            with self._wake:
                while not (self._waiting or self._doomed or self._closed):
                    self._wake.wait()
                doomed = list(self._doomed)
                self._doomed.clear()
                entry = self._waiting.popleft() if self._waiting else None
                if self._closed and not doomed and entry is None:
                    return
            # First what makes room, or the files would together exceed the limit.
            for name in doomed:
                self._folder.delete(name)
            if entry is not None:
                self._store(entry)

    def _store(self, entry: _Entry) -> None:
        state = entry.state
        if state is None:
            raise ValueError("an entry is written once")
        try:
            self._write(entry, state)
        except OSError:
            with self._wake:
                if self._entries.get(entry.key) is entry:
                    self._forget(entry.key)
                    self._lost.append(entry.key)
        with self._wake:
            entry.state = None

    def _write(self, entry: _Entry, state: memoryview) -> None:
        sealed = bytearray(min(CHUNK, state.nbytes) + TAG)
        with self._folder.create(entry.name) as file:
            for index in range(entry.chunks):
                plain = state[index * CHUNK : (index + 1) * CHUNK]
                part = memoryview(sealed)[: plain.nbytes + TAG]
                self._cipher.encrypt_into(entry.nonce(index), plain, entry.owner, part)
                file.write(part)

    def _read(self, entry: _Entry) -> memoryview:
        """Raises ``OSError`` or ``InvalidTag`` where it is not the file that was written."""
        plain = memoryview(bytearray(entry.size))
        sealed = bytearray(min(CHUNK, entry.size) + TAG)
        with self._folder.open(entry.name) as file:
            for index in range(entry.chunks):
                target = plain[index * CHUNK : (index + 1) * CHUNK]
                part = memoryview(sealed)[: target.nbytes + TAG]
                if file.readinto(part) != part.nbytes:
                    raise InvalidTag
                self._cipher.decrypt_into(entry.nonce(index), part, entry.owner, target)
        return plain
