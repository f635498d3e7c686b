"""Model B's messages as LangChain classes: who speaks, since when, and how each is put before a model.

Every class is a HumanMessage or an AIMessage to everybody else, and comes back from the store as itself (`codec`).
It refuses to know the store and the order of a context. Names and fields are those of the OpenDataSci design.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, Protocol, Self, TypeVar, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import AfterValidator

from memcli.memory.recalls import Origin, escaped, metadata_line

Content = str | list[str | dict[str, object]]
Said = str | Sequence[str | Mapping[str, object]]
"""What a message can be made from: a text, or content blocks."""

_OPEN_END = re.compile(r"^([^\S\n]*)\[\Z", re.MULTILINE)
"""A bracket a block ends with, alone on its line: the next block could complete it."""


def _content(said: Said) -> str | list[str | dict[object, object]]:
    """Take content as LangChain declares it."""
    return said if isinstance(said, str) else cast("list[str | dict[object, object]]", said)


def _in_utc(moment: datetime) -> datetime:
    """Put a time in UTC; one without a zone is taken to be in it."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Moment = Annotated[datetime, AfterValidator(_in_utc)]
"""A time in UTC."""


class RenderableMessageMixin:
    """Put a message before a model with one metadata line in front: its origin and local time."""

    def render(self: _R) -> _R:
        """Copy the message with the line in front of its content; the original is untouched.

        Text that imitates such a line is escaped. Content blocks stay blocks: the line becomes one of its own.
        """
        line = self.metadata_line()
        return self.model_copy(update={"content": _with_line(line, self.content)})

    def metadata_line(self: _Stamped) -> str:
        """Write the one line that a rendered copy begins with."""
        return metadata_line(self.origin, self.created_at)


class UserMessage(RenderableMessageMixin, HumanMessage):
    """What the user said."""

    created_at: Moment
    origin: Literal["user"] = "user"
    is_input_on_interrupt: bool = False
    """It answers an interrupt of the agent instead of beginning something new."""

    def __init__(self, content: Said, *, created_at: datetime | None = None, **fields: object) -> None:
        super().__init__(_content(content), created_at=created_at or datetime.now(UTC), **fields)


class CompactionMessage(RenderableMessageMixin, HumanMessage):
    """The harness recalls the folded history."""

    created_at: Moment
    origin: Literal["harness"] = "harness"

    def __init__(self, content: Said, *, created_at: datetime | None = None, **fields: object) -> None:
        super().__init__(_content(content), created_at=created_at or datetime.now(UTC), **fields)

    def metadata_line(self) -> str:
        """Write the one line that a rendered copy begins with."""
        return metadata_line(self.origin, self.created_at, what="compaction")


class SummaryMessage(RenderableMessageMixin, HumanMessage):
    """The harness recalls one completed turn."""

    created_at: Moment
    origin: Literal["harness"] = "harness"
    turn_start_timestamp: Moment
    turn_end_timestamp: Moment

    def __init__(
        self, content: Said, *, turn_start_timestamp: datetime, turn_end_timestamp: datetime,
        created_at: datetime | None = None, **fields: object,
    ) -> None:  # fmt: skip
        fields |= {"turn_start_timestamp": turn_start_timestamp, "turn_end_timestamp": turn_end_timestamp}
        super().__init__(_content(content), created_at=created_at or datetime.now(UTC), **fields)

    def metadata_line(self) -> str:
        """Write the one line that a rendered copy begins with: the turn's start and end."""
        start, end = self.turn_start_timestamp, self.turn_end_timestamp
        return metadata_line(self.origin, start, what="turn summary", until=end)


class PlanMessage(RenderableMessageMixin, HumanMessage):
    """The harness recalls the plan in force."""

    created_at: Moment
    origin: Literal["harness"] = "harness"

    def __init__(self, content: Said, *, created_at: datetime | None = None, **fields: object) -> None:
        super().__init__(_content(content), created_at=created_at or datetime.now(UTC), **fields)

    def metadata_line(self) -> str:
        """Write the one line that a rendered copy begins with."""
        return metadata_line(self.origin, self.created_at, what="plan")


class AgentToAgentMessage(RenderableMessageMixin, HumanMessage):
    """One agent gives another a task; it opens the other's conversation."""

    created_at: Moment
    origin: Literal["agent"] = "agent"

    def __init__(self, content: Said, *, created_at: datetime | None = None, **fields: object) -> None:
        super().__init__(_content(content), created_at=created_at or datetime.now(UTC), **fields)


class AgentMessage(AIMessage):
    """What the model said. It is not renderable: a model reads its own words as they are."""

    created_at: Moment
    origin: Literal["agent"] = "agent"

    def __init__(self, content: Said, *, created_at: datetime | None = None, **fields: object) -> None:
        super().__init__(_content(content), created_at=created_at or datetime.now(UTC), **fields)

    @classmethod
    def from_langchain(cls, message: AIMessage, *, created_at: datetime | None = None) -> AgentMessage:
        """Take over an AI message, whole or put together from chunks, with all it carries; `created_at` None is now.

        One that is an AgentMessage already is given back as it is.
        """
        if isinstance(message, AgentMessage):
            return message
        return cls(**_fields(message, AIMessage, created_at))  # type: ignore[arg-type]


def as_typed(message: BaseMessage, created_at: datetime) -> BaseMessage:
    """Turn LangChain's own human and AI messages into Model B's; every other message is given back as it is."""
    if type(message) is HumanMessage:
        return UserMessage(**_fields(message, HumanMessage, created_at))  # type: ignore[arg-type]
    if type(message) is AIMessage:
        return AgentMessage.from_langchain(message, created_at=created_at)
    return message


def _fields(message: BaseMessage, cls: type[BaseMessage], created_at: datetime | None) -> Mapping[str, object]:
    """Collect what a message of LangChain's carries, extra fields too."""
    fields = {name: getattr(message, name) for name in cls.model_fields if name != "type"}
    return {**fields, **(message.model_extra or {}), "created_at": created_at}


class _Stamped(Protocol):
    """What a metadata line needs of a message."""

    @property
    def origin(self) -> Origin: ...

    @property
    def created_at(self) -> datetime: ...


class _Renderable(Protocol):
    """What rendering needs of a message."""

    content: Content

    def metadata_line(self) -> str: ...

    def model_copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> Self: ...


_R = TypeVar("_R", bound=_Renderable)


def _with_line(line: str, content: Content) -> Content:
    if isinstance(content, str):
        return f"{line}\n{escaped(content)}"
    return [{"type": "text", "text": f"{line}\n"}, *(_escaped_block(block) for block in content)]


def _escaped_block(block: str | dict[str, object]) -> str | dict[str, object]:
    if isinstance(block, str):
        return _closed(block)
    text = block.get("text")
    return {**block, "text": _closed(text)} if isinstance(text, str) else block


def _closed(text: str) -> str:
    return _OPEN_END.sub(r"\1\\[", escaped(text))
