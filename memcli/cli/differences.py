"""`memcli summaries --diff 3 4`: what one summary says otherwise than another. It refuses to know how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memcli.cli.output import document, line
from memcli.cli.session import Session
from memcli.memory.word_diff import SummaryDiff, summary_diff
from memcli.records import Conversation, Summary


def show_difference(
    session: Session, conversation: Conversation, ids: Sequence[int], head: Mapping[str, object] | None,
    *, as_line: bool,
) -> None:  # fmt: skip
    """Show how the second of two summaries differs from the first.

    With `head` as JSON, put behind those keys; `as_line` makes it one line. Raises NotFound, naming the summary.
    """
    before, after = (session.store.summaries.get(conversation.id, id) for id in ids)
    found = summary_diff(before, after)
    if head is not None:
        row = {"diff": difference_row(before, after, found)}
        session.terminal.write(line(row) if as_line else document({**head, **row}))
        return
    from memcli.cli.render.word_diff import difference_view

    with session.terminal.paged():
        session.terminal.show(difference_view(before, after, found))


def difference_row(before: Summary, after: Summary, found: SummaryDiff) -> Mapping[str, object]:
    """Describe a difference: the pieces of both texts in order, and the exact values gained and lost."""
    return {
        "before": _side(before),
        "after": _side(after),
        "pieces": [{"kind": piece.kind, "text": piece.text} for piece in found.pieces],
        "gained": list(found.gained),
        "lost": list(found.lost),
    }


def _side(summary: Summary) -> Mapping[str, object]:
    return {
        "id": summary.id,
        "kind": summary.kind,
        "first_message_id": summary.first_message_id,
        "last_message_id": summary.last_message_id,
        "tokens": summary.tokens,
        "fidelity": summary.fidelity,
    }
