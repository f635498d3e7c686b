"""What really leaves for a model: whoever sends a request's body tells it here, and who made the call listens.

It refuses to know what is in a body (`bodies`) and where it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from memcli.agent.bodies import Form

Listener = Callable[[str, Form], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("memcli_listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell `listener` every body that is sent inside, before it leaves. Others, in other threads too, hear nothing."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(body: str, form: Form) -> None:
    """Tell that a body is about to leave, and how its messages are written. What the listener raises keeps it here."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(body, form)
