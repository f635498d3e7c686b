"""A picture as a JSON document: the numbers `memcli context` shows, under stable names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memcli.cli.ledger_json import counts_json, pairs
from memcli.cli.picture import Picture
from memcli.memory.context import Part

if TYPE_CHECKING:
    from memcli.cli.inspect_raw import Raw
    from memcli.memory.wire import WireMessage


def picture_json(picture: Picture) -> Mapping[str, object]:
    """Describe a picture as a document: the same numbers as the picture, under stable names."""
    seen, ledger = picture.context, picture.context.ledger
    return {
        "conversation": seen.conversation_id,
        "name": picture.conversation.name,
        "memory": seen.memory,
        "kept_under": picture.conversation.memory,
        "limit_tokens": seen.limit_tokens,
        "max_tokens": seen.policy.max_tokens,
        "parts": [_part_json(part) for part in seen.parts],
        "tokens": seen.tokens,
        "free_tokens": picture.free_tokens,
        "messages": counts_json(ledger),
        "verbatim": pairs(ledger.verbatim),
        "clipped": pairs(ledger.clipped),
        "summarised": pairs(ledger.summarised),
        "forgotten": pairs(ledger.forgotten),
        "excluded": pairs(ledger.excluded),
        "out_of_context_tokens": {
            "summarised": picture.outside.summarised,
            "forgotten": picture.outside.forgotten,
            "excluded": picture.outside.excluded,
        },
        "estimate": {"tokens": picture.estimate.tokens, "method": picture.estimate.method},
        "reported": _reported_json(picture),
        "reuse": _reuse_json(picture),
        "next_fold": {
            "reason": picture.due.reason,
            "user_messages_left": picture.due.turns_left,
            "first_message_id": picture.due.first_message_id,
            "last_message_id": picture.due.last_message_id,
        },
        "lacks": _lacks_json(picture),
        "departures": list(seen.departures),
        "warnings": list(picture.warnings),
    }


def raw_json(raw: Raw) -> Mapping[str, object]:
    """Describe the exact messages of a call as a document, in order, and the body they are sent in.

    `body` is the text of the body; `note` says how it may differ from what is sent, null when it cannot.
    """
    return {
        "conversation": raw.context.conversation_id,
        "memory": raw.context.memory,
        "limit_tokens": raw.context.limit_tokens,
        "messages": [_message_json(message) for message in raw.messages],
        "body": raw.text,
        "note": raw.note or None,
    }


def _message_json(message: WireMessage) -> Mapping[str, object]:
    return {
        "role": message.role,
        "content": message.content,
        "tool_calls": [{"id": call.id, "name": call.name, "args": dict(call.args)} for call in message.tool_calls],
        "tool_call_id": message.tool_call_id,
        "name": message.name,
        "is_error": message.is_error,
        "message_id": message.message_id,
    }


def _part_json(part: Part) -> Mapping[str, object]:
    return {
        "source": part.source,
        "first_message_id": part.first_message_id,
        "last_message_id": part.last_message_id,
        "tokens": part.tokens,
        "state": part.state,
        "why": part.why,
        "role": part.message.role if part.message is not None else None,
        "summary": part.summary_id,
        "text": part.text,
    }


def _reuse_json(picture: Picture) -> Mapping[str, object] | None:
    reuse = picture.reuse
    if reuse is None:
        return None
    return {"tokens": reuse.shared_tokens, "of_tokens": reuse.total_tokens, "share": round(reuse.share, 4)}


def _lacks_json(picture: Picture) -> Mapping[str, object] | None:
    lacks = picture.lacks
    if lacks is None:
        return None
    return {"turns": lacks.turns, "messages": lacks.messages, "requests": lacks.requests, "tokens": lacks.tokens}


def _reported_json(picture: Picture) -> Mapping[str, object] | None:
    call = picture.reported
    if call is None:
        return None
    return {
        "call": call.id,
        "model": call.model,
        "limit_tokens": call.limit_tokens,
        "estimated_tokens": call.estimated_tokens,
        "input_tokens": call.input_tokens,
        "output_tokens": call.output_tokens,
        "started_at": call.started_at,
    }
