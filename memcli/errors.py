"""The exception tree. Every error a user can cause or meet is one of these; each carries its exit code.

    MemcliError                  1    unexpected
    ├── UsageError               2    a flag, value or argument cannot be used
    │   ├── AmbiguousName        2    a name or prefix fits several conversations
    │   └── ContextOverflow      2    what must be in the context does not fit its limit
    ├── NotFound                 3    no such conversation, message, summary, call or model
    ├── ModelError               4    the model failed; the same call may work later
    │   ├── ModelUnreachable     4    no server, or no model runtime installed
    │   ├── ModelTimeout         4    no answer in time
    │   └── PromptTruncated      4    the server cut the prompt and said nothing
    ├── CompactionRejected       5    no acceptable summary came back; the store is untouched
    ├── StoreLocked              6    another process held the store for too long
    ├── StoreUnusable            7    the store cannot be used as it is
    │   ├── StoreCorrupt         7    damaged, or not a memcli store
    │   └── StoreTooNew          7    made by a newer memcli
    ├── StoreUnwritable          1    the disk is full or the file is read-only; nothing was changed
    ├── HeadMoved                1    somebody else's compaction won the race (handled by fold, never shown)
    └── Interrupted            130    the user pressed Ctrl-C

It refuses to know how an error is shown: `memcli/cli/main.py` does that, in one place.
"""

from __future__ import annotations


class MemcliError(Exception):
    """Say what happened, with the value, and what to do next."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        """One line: what happened and the value. No full stop, no apology."""
        self.hint = hint
        """One line: the next step, or None where there is none."""


class UsageError(MemcliError):
    """Report a flag, value or argument that cannot be used."""

    exit_code = 2


class AmbiguousName(UsageError):
    """Report a name or prefix that fits several conversations; the hint lists them."""


class ContextOverflow(UsageError):
    """Report what was needed against what was available, both in budget tokens."""

    def __init__(self, what: str, needed_tokens: int, available_tokens: int, hint: str | None = None) -> None:
        super().__init__(f"{what} needs {needed_tokens:,} tokens and {available_tokens:,} are available", hint)
        self.needed_tokens = needed_tokens
        self.available_tokens = available_tokens


class NotFound(MemcliError):
    """Report a conversation, message, summary, call or model that is not there."""

    exit_code = 3


class ModelError(MemcliError):
    """Report a model that failed; the same call may work later."""

    exit_code = 4


class ModelUnreachable(ModelError):
    """Report that no model server answers and no model runtime is installed."""


class ModelTimeout(ModelError):
    """Report a model that did not answer in time."""


class PromptTruncated(ModelError):
    """Report a server that evaluated far fewer prompt tokens than it was sent."""


class CompactionRejected(MemcliError):
    """Report that no acceptable summary came back; the head stays where it was."""

    exit_code = 5


class StoreLocked(MemcliError):
    """Report a store that another process held for longer than the busy timeout."""

    exit_code = 6


class StoreUnusable(MemcliError):
    """Report a store that cannot be used as it is."""

    exit_code = 7


class StoreCorrupt(StoreUnusable):
    """Report a damaged store, or a file that is not a memcli store."""


class StoreTooNew(StoreUnusable):
    """Report a store made by a newer memcli; the file is untouched."""


class StoreUnwritable(MemcliError):
    """Report a write that the disk or the file's mode refused; nothing was changed."""


class HeadMoved(MemcliError):
    """Report that another compaction committed first; the caller discards its own."""


class Interrupted(MemcliError):
    """Report that the user interrupted the work."""

    exit_code = 130
