"""`memcli context --call N` and `--at MESSAGE`: what a past call really saw, or would have seen."""

from __future__ import annotations

from collections.abc import Mapping

from memcli.cli.asked import Asked
from memcli.cli.inspect_find import moment_json
from memcli.cli.moments import moment_of, picture_of
from memcli.cli.outlet import Outlet
from memcli.cli.picture import Picture
from memcli.cli.picture_json import picture_json
from memcli.cli.session import Session
from memcli.memory.alarm import Alarm, alarm_of
from memcli.memory.travel import Moment
from memcli.records import Conversation, MemoryModel


def show_moment(
    session: Session, conversation: Conversation, memory: MemoryModel, asked: Asked, outlet: Outlet
) -> None:  # fmt: skip
    """Show the picture of an earlier moment: recorded where a call was made, rebuilt where none was."""
    moment = moment_of(session, conversation, memory, asked)
    picture = picture_of(session.store, conversation, moment)
    alarm = None
    if moment.call is not None:
        alarm = alarm_of(session.store, conversation.id, moment.call.id, moment.context)
    if outlet.as_json:
        outlet.write(moment_body(moment, picture, alarm))
        return
    from memcli.cli.render.moment import MomentView

    outlet.show(MomentView(moment, picture, alarm, outlet.detail), title=f"memcli context: {moment.label}")


def moment_body(moment: Moment, picture: Picture, alarm: Alarm | None) -> Mapping[str, object]:
    """Describe an earlier moment as a picture's document: with which moment it is, and without what comes next."""
    body = dict(picture_json(picture))
    for key in ("next_fold", "lacks", "reuse", "warnings"):
        del body[key]
    call = moment.call
    ended = {"status": call.status, "error": call.error, "duration_ms": call.duration_ms} if call is not None else None
    return {**body, "moment": {**moment_json(moment), "ended": ended}, "alarm": _alarm_json(alarm)}


def _alarm_json(alarm: Alarm | None) -> Mapping[str, object] | None:
    if alarm is None:
        return None
    return {
        "kind": alarm.kind,
        "text": alarm.text,
        "estimated_tokens": alarm.estimated,
        "reported_tokens": alarm.reported,
        "allotted_tokens": alarm.allotted,
        "exit_code": alarm.error.exit_code,
    }
