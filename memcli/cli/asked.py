"""What a `memcli context` command line asks beside the next call's picture, and what cannot be asked together."""

from __future__ import annotations

from dataclasses import dataclass

from memcli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Asked:
    """One question about a context."""

    find: str | None = None
    word: bool = False
    exact: bool = False
    at: str | None = None
    call: int | None = None
    diff: tuple[str, str] | None = None
    compare: tuple[str, ...] = ()
    replay: bool = False
    calls: bool = False
    raw: bool = False
    message: str | None = None

    @property
    def is_picture(self) -> bool:
        """Tell whether the next call's picture is all that is asked."""
        return self == Asked()

    @property
    def is_of_past(self) -> bool:
        """Tell whether a moment other than the next call is asked about."""
        return self.at is not None or self.call is not None

    def check(self) -> None:
        """Raise UsageError for what cannot be asked together."""
        asked = self._questions()
        if len(asked) > 1 and asked != ["--compare", "--replay"]:
            raise UsageError(f"{asked[0]} and {asked[1]} cannot be asked together", "ask one after the other")
        if self.at is not None and self.call is not None:
            raise UsageError("--at and --call name two moments", "give one of them, or --diff to compare them")
        if self.is_of_past and asked and asked[0] in ("--diff", "--compare", "--replay", "--calls"):
            moment = "--at" if self.at is not None else "--call"
            raise UsageError(f"{asked[0]} does not go with {moment}", f"leave {moment} out")
        self._check_find()
        self._check_message()

    def _check_find(self) -> None:
        for is_given, flag in ((self.word, "--word"), (self.exact, "--exact")):
            if is_given and self.find is None:
                raise UsageError(f"{flag} says how --find looks, and nothing is to be found", "add --find TEXT")
        if self.word and self.exact:
            raise UsageError("--word and --exact cannot be asked together", "give one of them")
        if self.find is not None and not self.find.strip():
            raise UsageError("--find has nothing to look for", "give the text: --find 'refund'")

    def _check_message(self) -> None:
        if self.message is None:
            return
        if not self.raw or self.is_of_past:
            raise UsageError("--message is a message to come, for --raw of the next call", "add --raw, or leave it out")
        if not self.message.strip():
            raise UsageError("--message has nothing to say", "give the text: --message 'And now?'")

    def _questions(self) -> list[str]:
        given = {
            "--find": self.find is not None,
            "--diff": self.diff is not None,
            "--compare": bool(self.compare),
            "--replay": self.replay,
            "--calls": self.calls,
            "--raw": self.raw,
        }
        return [flag for flag, is_given in given.items() if is_given]
