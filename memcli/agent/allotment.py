"""What an Ollama server really allots to a model, by its own word, asked for when the model has just run.

A server that allots all that is asked is asked once: every call asks for the same, so it stays as it is. One that
allots less is asked after each call, because it may be raised; one that does not say is left alone.
It refuses to know what follows from less (`memory/alarm`).
"""

from __future__ import annotations

from memcli.agent.ollama import OllamaServer
from memcli.errors import MemcliError

ASK_TIMEOUT_S = 2.0
"""The answer is there and the user waits: /api/ps reads what the server has in memory."""


class Allotment:
    """The context that one model has at one server; as good as the session it is asked in."""

    def __init__(self, host: str, model: str, asked: int, *, timeout_s: float = ASK_TIMEOUT_S) -> None:
        self._server = OllamaServer(host, timeout_s=timeout_s)
        self._names = {model.casefold(), f"{model}:latest".casefold()}
        self._asked = asked
        self._known: int | None = None
        self._is_settled = False

    def now(self) -> int | None:
        """Tell what the model that just ran was allotted, in its tokens; None when the server does not say.

        No failure of the server is one of the call's: it is raised nowhere.
        """
        if not self._is_settled:
            self._known = self._ask()
            self._is_settled = self._known is None or self._known >= self._asked
        return self._known

    def _ask(self) -> int | None:
        try:
            loaded = self._server.loaded()
        except MemcliError:
            return None
        return next((model.context_length for model in loaded if model.name.casefold() in self._names), None)
