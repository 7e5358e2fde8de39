"""The server of Freeze-Omni's demo on the library that it uses, in an environment of its own, around our few lines.

    PYTHONPATH=tests PYTHON_OF_THE_ENVIRONMENT -m fakes.freeze_omni_flask.server '{"max_users": 5, "habits": {...}}'

It prints its port once it listens. The handlers are those of `bin/server.py`, in its order.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from contextlib import redirect_stdout
from typing import Any

from fakes.freeze_omni_model import HANDLED, Habits, User
from flask import Flask, request
from flask_socketio import SocketIO, disconnect, emit

told: dict[str, Any] = json.loads(sys.argv[1])
app = Flask(__name__)
socketio = SocketIO(app, async_mode="threading")
users: dict[str, User] = {}


def connect() -> None:
    if len(users) >= told["max_users"]:
        emit("too_many_users")
        return
    users[request.sid] = User(Habits(**told["habits"]))  # type: ignore[attr-defined,unused-ignore]


def forget() -> None:
    users.pop(request.sid, None)  # type: ignore[attr-defined,unused-ignore]


def handle(event: str, data: object = None) -> None:
    user = users.get(request.sid)  # type: ignore[attr-defined,unused-ignore]
    if user is None:
        disconnect()
        return
    for name, audio in user.take(event, data):
        emit(name) if audio is None else emit(name, audio)


def announce(port: int) -> None:
    """Print the port once somebody can connect."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.01)
        else:
            print(port, file=sys.__stdout__, flush=True)
            return


def main() -> None:
    socketio.on_event("connect", connect)
    socketio.on_event("disconnect", forget)
    for event in HANDLED:
        socketio.on_event(event, lambda *data, event=event: handle(event, *data))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    threading.Thread(target=announce, args=(port,), daemon=True).start()
    with redirect_stdout(sys.stderr):  # of the server's own greeting
        socketio.run(app, host="127.0.0.1", port=port, allow_unsafe_werkzeug=True)


if __name__ == "__main__":
    main()
