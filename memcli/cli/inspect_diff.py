"""`memcli context --diff A B`: what is different between two moments, with the tokens it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from memcli.cli.asked import Asked
from memcli.cli.inspect_find import moment_json
from memcli.cli.ledger_json import pairs
from memcli.cli.moments import named_moment
from memcli.cli.outlet import Outlet
from memcli.cli.session import Session
from memcli.memory.changes import ChangedPart, Changes, changes
from memcli.memory.spans import Spans
from memcli.memory.travel import Moment
from memcli.records import Conversation, MemoryModel
from memcli.store import Store


def show_diff(
    session: Session, conversation: Conversation, memory: MemoryModel, asked: Asked, outlet: Outlet
) -> None:  # fmt: skip
    """Show what was added, dropped and summarised from one moment to another."""
    assert asked.diff is not None
    looked_at = replace(conversation, memory=memory)
    before, after = (named_moment(session, looked_at, reference) for reference in asked.diff)
    changed = changes(before.context, after.context)
    tokens = _span_tokens(session.store, conversation.id, changed)
    if outlet.as_json:
        outlet.write(diff_json(before, after, changed, tokens))
        return
    from memcli.cli.render.changes import ChangesView

    view = ChangesView(conversation, before, after, changed, tokens, outlet.detail)
    outlet.show(view, title=f"memcli context --diff {' '.join(asked.diff)}")


def diff_json(
    before: Moment, after: Moment, changed: Changes, tokens: Mapping[str, int]
) -> Mapping[str, object]:  # fmt: skip
    """Describe what changed as a document."""
    return {
        "conversation": after.context.conversation_id,
        "before": {**moment_json(before), "tokens": changed.tokens_before},
        "after": {**moment_json(after), "tokens": changed.tokens_after},
        "tokens": changed.tokens,
        "sources": [{"source": row.source, "before": row.before, "after": row.after} for row in changed.sources],
        **{name: pairs(ids) for name, ids in spans_of(changed).items()},
        "span_tokens": dict(tokens),
        "parts": [_part_json(part) for part in changed.parts],
    }


def spans_of(changed: Changes) -> Mapping[str, Spans]:
    """Name the messages that stand elsewhere now, by where."""
    return {
        "added": changed.added,
        "dropped": changed.dropped,
        "summarised": changed.summarised,
        "clipped": changed.clipped,
        "excluded": changed.excluded,
    }


def _span_tokens(store: Store, conversation_id: str, changed: Changes) -> Mapping[str, int]:
    """Add up what the messages themselves take, by where they stand now; excluded ones are not counted anywhere."""
    counted = {name: ids for name, ids in spans_of(changed).items() if name != "excluded"}
    return {name: store.messages.token_sum(conversation_id, ids) for name, ids in counted.items()}


def _part_json(changed: ChangedPart) -> Mapping[str, object]:
    part = changed.part
    return {
        "change": changed.kind,
        "source": part.source,
        "first_message_id": part.first_message_id,
        "last_message_id": part.last_message_id,
        "summary": part.summary_id,
        "state": part.state,
        "tokens_before": changed.before.tokens if changed.before else None,
        "tokens_after": changed.after.tokens if changed.after else None,
        "why": part.why,
    }
