"""`memcli context --replay`: a whole conversation under a policy, a row a turn, before the policy is adopted.

With --compare each of those policies is walked. The folds are the extractive summarizer's, so it costs no model call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from memcli.cli.alternatives import alternatives
from memcli.cli.asked import Asked
from memcli.cli.inspect_compare import policy_json
from memcli.cli.outlet import Outlet
from memcli.cli.picture import next_request
from memcli.cli.session import Session
from memcli.cli.terminal import Terminal
from memcli.cli.walks import Walk
from memcli.memory.replay import ReplayRow, replay
from memcli.memory.whatif import Alternative
from memcli.records import Conversation, MemoryModel


def show_replay(
    session: Session, conversation: Conversation, memory: MemoryModel, asked: Asked, outlet: Outlet
) -> None:  # fmt: skip
    """Walk the conversation and show how things stood after every turn."""
    listed = alternatives(session, conversation, memory, asked.compare)
    walks = [_walk(session, conversation, item) for item in (listed[1:] or listed)]
    if outlet.as_json:
        outlet.write(
            {"conversation": conversation.id, "name": conversation.name, "walks": [_walk_json(walk) for walk in walks]}
        )
        return
    from memcli.cli.render.replay import ReplayView

    outlet.show(ReplayView(conversation, walks, outlet.detail), title="memcli context --replay")


def _walk(session: Session, conversation: Conversation, item: Alternative) -> Walk:
    tools_tokens = next_request(session.store, conversation).tools_tokens
    rows = replay(session.store, conversation, item.policy, memory=item.memory, tools_tokens=tools_tokens)
    return Walk(item, tuple(_told(session.terminal, rows)))


def _told(terminal: Terminal, rows: Iterable[ReplayRow]) -> Iterator[ReplayRow]:
    """Pass rows on; a person who waits sees how far it is."""
    for row in rows:
        if terminal.shows_progress:
            terminal.note_progress(f"turn {row.turn:,}")
        yield row
    if terminal.shows_progress:
        terminal.note_progress("")


def _walk_json(walk: Walk) -> Mapping[str, object]:
    peak, worst = walk.peak, walk.worst
    return {
        "label": walk.alternative.label,
        "memory": walk.alternative.memory,
        "policy": policy_json(walk.alternative.policy),
        "safe": walk.is_safe,
        "turns": len(walk.rows),
        "folds": walk.folds,
        "peak_tokens": peak.peak_tokens if peak is not None else 0,
        "most_forgotten": worst.most_forgotten if worst is not None else 0,
        "problems": len(walk.problems),
        "rows": [_row_json(row) for row in walk.rows],
    }


def _row_json(row: ReplayRow) -> Mapping[str, object]:
    return {
        "turn": row.turn,
        "last_message_id": row.last_message_id,
        "tokens": row.tokens,
        "peak_tokens": row.peak_tokens,
        "folds": row.folds,
        "summary_tokens": row.summary_tokens,
        "verbatim": row.verbatim,
        "forgotten": row.forgotten,
        "most_forgotten": row.most_forgotten,
        "problem": row.problem,
    }
