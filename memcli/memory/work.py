"""What Model B's upkeep works with: the conversation, who writes, what was spent, and how a summary is stored.

It refuses to know what is summarised; `turn_summaries`, `compaction` and `recap` do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from memcli.errors import ModelUnreachable
from memcli.memory.asking import Rejected, ask, breaker_opens_until
from memcli.memory.context import Policy, Request
from memcli.memory.fold import CHUNK_TOKENS, LEAST_CHUNK_TOKENS, FoldResult, FoldStatus, Progress, input_hash
from memcli.memory.in_force import Recalls, recalls_at
from memcli.memory.prompts import Prompt
from memcli.memory.summarizer import Completion, ExtractiveSummarizer, Summarizer, request_tokens
from memcli.memory.tally import Tally
from memcli.memory.tokens import estimate_tokens, text_tokens
from memcli.memory.turn_prompts import TURN_PROMPT_VERSION
from memcli.memory.uncovered import foldable_up_to
from memcli.memory.verdict import reject
from memcli.records import Conversation, NewSummary, Summary, SummaryKind, SummaryState
from memcli.store import Store

ANSWER_ROOM = 2
"""How often a summary's cap is kept free for the answer: its tokens are no budget tokens, and reasoning comes first."""
LEAST_BODY_TOKENS = 16
LABEL_TOKENS = 8
"""What a line's label, its message id and its speaker, takes."""
Judge = Callable[[Completion, str], str | None]
"""Say why an answer is not what was asked for; None when it is."""


@dataclass(slots=True)
class Work:
    """One round of upkeep."""

    store: Store
    conversation: Conversation
    policy: Policy
    summarizer: Summarizer
    request: Request
    is_automatic: bool = True
    """Nobody asked for it: when the model fails too often in a row the extractive summarizer stands in."""
    instructions: str | None = None
    min_fidelity: float | None = None
    """The least share of the exact values a compaction must keep, 0 to 1; None asks for nothing."""
    state: SummaryState = "made"
    """`proposed` stores a compaction without putting it in force."""
    progress: Progress = field(default_factory=Progress)
    tally: Tally = field(default_factory=Tally)
    failure: str | None = None
    """Why the last turn summary was kept word for word."""
    unreachable: ModelUnreachable | None = None
    """Set when the model could not be reached: no further turn summary is asked for."""

    @property
    def id(self) -> str:
        """Name the conversation."""
        return self.conversation.id

    def recalls(self) -> Recalls:
        """Read what stands for the completed turns now; the ongoing turn is left alone."""
        return recalls_at(self.store, self.id, foldable_up_to(self.store, self.conversation))

    def stands_in(self) -> bool:
        """Tell whether the extractive summarizer writes now because the model keeps failing."""
        return self.is_automatic and breaker_opens_until(self.store, self.id, self.summarizer.label) is not None

    def writer(self) -> Summarizer:
        """Give the one who writes now."""
        return ExtractiveSummarizer() if self.stands_in() else self.summarizer

    def ask(self, writer: Summarizer, prompt: Prompt, judge: Judge) -> tuple[str, Completion]:
        """Ask for a text until it is accepted. Raises Rejected and ModelUnreachable."""
        return ask(self.store, self.id, writer, prompt, judge, self.progress.spending)

    def made(self, stored: Summary, replaced_tokens: int, *, first_message_id: int | None = None) -> None:
        """Note one more summary; `first_message_id` is where what it was made of begins, None where its span does."""
        self.progress.summary = stored
        self.tally.note(stored, first_message_id or stored.first_message_id, replaced_tokens)

    def commit(self, new: NewSummary, previous: Summary | None, replaced_tokens: int) -> bool:
        """Store a turn summary or a recap. False when another process has stored one for the same span meanwhile."""
        with self.store.transaction(durable=True):
            newest = self.store.summaries.newest_of(self.id, new.kind, new.first_message_id)
            if (newest.id if newest else None) != (previous.id if previous else None):
                return False
            stored = self.store.summaries.add(self.id, new)
        self.made(stored, replaced_tokens)
        return True

    def result(self, status: FoldStatus, error: str | None = None) -> FoldResult:
        """Say how it ended."""
        return self.tally.told_in(self.progress.result(self.id, status, error))

    def rejected(self, err: Rejected) -> FoldResult:
        """Say that no acceptable text came back."""
        return self.result(err.status, err.message)


def room_in(writer: Summarizer, frame: Prompt) -> int:
    """Tell how many tokens of history a request can carry beside its frame, which is the same prompt without any."""
    fixed = max(request_tokens(frame), estimate_tokens(frame.system + frame.user))
    return max(LEAST_CHUNK_TOKENS, min(CHUNK_TOKENS, writer.window_tokens - fixed - ANSWER_ROOM * frame.max_tokens))


def body_tokens(room: int, pieces: int) -> int:
    """Share the room of a request between so many texts; each is shown clipped to its share, and with a label."""
    return max(LEAST_BODY_TOKENS, room // max(1, pieces) - LABEL_TOKENS)


def new_summary(
    work: Work, writer: Summarizer, kind: SummaryKind, parent: Summary | None, span: tuple[int, int], text: str,
    completion: Completion, prompt: Prompt,
) -> NewSummary:  # fmt: skip
    """Describe a summary that was accepted."""
    parent_id = parent.id if parent else None
    return NewSummary(
        kind=kind, parent_id=parent_id, first_message_id=span[0], last_message_id=span[1], text=text, values=(),
        fidelity=None, tokens=text_tokens(text), model=writer.label, prompt_version=TURN_PROMPT_VERSION,
        input_tokens=completion.input_tokens, output_tokens=completion.output_tokens,
        input_hash=input_hash(kind, writer, parent_id, prompt, work.policy), instructions=work.instructions,
    )  # fmt: skip


def smaller_than(replaced_tokens: int, prompt: Prompt) -> Judge:
    """Judge a text by the rules of a summary: about the same, and smaller than what it replaces."""
    source = f"{prompt.previous or ''}\n{prompt.user}"

    def judge(completion: Completion, text: str) -> str | None:
        return reject(completion, text, max_tokens=prompt.max_tokens, replaced_tokens=replaced_tokens, source=source)

    return judge
