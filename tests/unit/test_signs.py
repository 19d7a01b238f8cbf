"""Signs of life: a reply, whatever it says, or a file that was touched; silence is none."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

from deploy.appliance.signs import PING, get, replies, touches


def test_any_reply_is_a_sign(tmp_path: Path) -> None:
    path, heard = tmp_path / "socket", []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def answer() -> None:
            line, _ = listener.accept()
            with line:
                heard.append(line.recv(100))
                line.sendall(b"-NOT THIS\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        assert replies(path, PING)(5.0)
        thread.join()
    assert heard == [b"PING\r\n"]


def test_who_listens_and_says_nothing_gives_no_sign() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not replies(listener.getsockname()[:2], get("/healthz", "house"))(0.2)


def test_who_does_not_listen_gives_no_sign(tmp_path: Path) -> None:
    assert not replies(tmp_path / "nobody", PING)(5.0)


def test_a_touched_file_is_a_sign_once_and_the_clock_may_be_set_back(tmp_path: Path) -> None:
    file = tmp_path / "lives"
    sign = touches(file)
    assert not sign(0)
    file.touch()
    assert (sign(0), sign(0)) == (True, False)
    os.utime(file, (1, 1))
    assert (sign(0), sign(0)) == (True, False)
