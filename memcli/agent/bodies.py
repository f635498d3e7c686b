"""Bodies of requests: what a call sends beside its messages is recorded, its messages are written again from the log.

A body is one JSON object with `messages` in it. Where their form here writes them exactly as they were sent, the record
holds the rest of the body and the form's name; else the body whole. So a record never tells another body than
the one that was sent, and `Sent.is_exact` says when it cannot tell that one. It refuses to know LangChain, because
inspecting loads it, and how a body is sent (`ollama`, `llama`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from memcli.memory.checksum import checksum
from memcli.memory.context import Context
from memcli.memory.wire import WireMessage

Json = Mapping[str, object]
Form = Literal["ollama", "plain"]
"""How messages are written: as Ollama's chat API has them, or in the three roles of a chat template."""
PlainRole = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Sent:
    """A request's body as it was put together again."""

    body: str
    is_exact: bool
    """It is, to the byte, what was sent."""


@dataclass(frozen=True, slots=True)
class PlainMessage:
    """One message in the three roles every chat template knows."""

    role: PlainRole
    content: str


def body_text(body: Json) -> str:
    """Write a body as every backend of ours gets it: ASCII, in the order of its keys."""
    return json.dumps(body)


def record_of(body: str, form: Form, messages: Sequence[WireMessage]) -> str:
    """Record a body that is sent for these messages, by reference to them where that is exact."""
    found: Json = json.loads(body)
    if body_text({**found, "messages": _FORMS[form](messages)}) == body:
        return json.dumps({"form": form, "check": checksum(body), "body": {**found, "messages": None}})
    return json.dumps({"form": None, "check": checksum(body), "body": found})


def sent_by(record: str, messages: Sequence[WireMessage]) -> Sent:
    """Put the body that was recorded together again. `messages` are what the call saw."""
    read = _Record.read(record)
    body = read.whole(messages)
    return Sent(body, checksum(body) == read.check)


def next_after(record: str, context: Context, messages: Sequence[WireMessage]) -> str | None:
    """Write the body of a call with another context that goes to the same model with the same tools as a recorded one.

    None when the record says nothing of how messages are written.
    """
    read = _Record.read(record)
    if read.form is None:
        return None
    return read.allotting(context).whole(messages)


def messages_alone(messages: Sequence[WireMessage]) -> str:
    """Write messages as Ollama's chat API has them, in a body of which nothing else is known."""
    return body_text({"messages": _ollama(messages)})


def joined(said: Iterable[PlainMessage]) -> list[PlainMessage]:
    """Join neighbours of one role by an empty line, because many templates insist that roles alternate.

    Messages that say nothing are left out; [] when all say nothing.
    """
    plain: list[PlainMessage] = []
    for message in said:
        if not message.content:
            continue
        if plain and plain[-1].role == message.role:
            message = PlainMessage(message.role, f"{plain.pop().content}\n\n{message.content}")
        plain.append(message)
    return plain


def result_in_words(tool: str | None, text: str) -> str:
    """Write a tool's result for a model that has no role for it."""
    return f"[result of {tool or 'a tool'}] {text}"


def call_in_words(tool: str, args: Json) -> str:
    """Write a call of a tool for a model that has no place for it."""
    return f"[called {tool} with {json.dumps(dict(args), ensure_ascii=False, default=str)}]"


@dataclass(frozen=True, slots=True)
class _Record:
    form: Form | None
    check: str
    body: Json

    @classmethod
    def read(cls, record: str) -> _Record:
        values = json.loads(record)
        return cls(values["form"], values["check"], values["body"])

    def whole(self, messages: Sequence[WireMessage]) -> str:
        return body_text(self.body if self.form is None else {**self.body, "messages": _FORMS[self.form](messages)})

    def allotting(self, context: Context) -> _Record:
        """Give the answer the room that it has in another context."""
        body = dict(self.body)
        if self.form == "ollama":
            options = cast("Json", body.get("options") or {})
            allotted = {"num_ctx": context.limit_tokens, "num_predict": context.answer_tokens}
            body["options"] = {name: allotted.get(name, value) for name, value in options.items()}
        else:
            body["max_tokens"] = context.policy.output_reserve
        return _Record(self.form, self.check, body)


def _ollama(messages: Sequence[WireMessage]) -> list[Json]:
    """Write messages as langchain-ollama and the ollama package do: what is empty is left out, and a call's id."""
    return [_ollama_message(message) for message in messages]


def _ollama_message(message: WireMessage) -> Json:
    shown: dict[str, object] = {"role": message.role}
    if message.content:
        shown["content"] = message.content
    if message.tool_calls:
        calls = [{"function": {"name": call.name, "arguments": dict(call.args)}} for call in message.tool_calls]
        shown["tool_calls"] = calls
    return shown


def _plain(messages: Sequence[WireMessage]) -> list[Json]:
    """Write messages as the embedded model gets them."""
    return [{"role": said.role, "content": said.content} for said in joined(map(_in_words, messages))]


def _in_words(message: WireMessage) -> PlainMessage:
    if message.role == "tool":
        return PlainMessage("user", result_in_words(message.name, message.content))
    calls = [call_in_words(call.name, call.args) for call in message.tool_calls]
    return PlainMessage(message.role, "\n".join(filter(None, [message.content, *calls])))


_FORMS: Mapping[Form, Callable[[Sequence[WireMessage]], list[Json]]] = {"ollama": _ollama, "plain": _plain}
"""The forms messages are written in, by the names that stand in records; a released one is never changed."""
