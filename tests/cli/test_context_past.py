"""`memcli context --call`, `--at` and `--diff`: what was seen, in words, in a pipe and as JSON."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from memcli.cli.moments import picture_of
from memcli.cli.render.changes import ChangesView
from memcli.cli.render.moment import MomentView
from memcli.memory.alarm import alarm_of
from memcli.memory.changes import changes
from memcli.memory.context import Context
from memcli.memory.travel import of_call
from memcli.records import Conversation
from memcli.store import Store
from tests.cli.conftest import Run
from tests.memory.talks import begin, keep, turn_of

MIDDLE, LATE = 8, 14
"""Calls of the talk; 6 and 12 are compactions."""
POLICY = ("--max-tokens", "220", "--limit-tokens", "2000", "--output-reserve", "200")


@pytest.fixture
def seen(store: Store) -> dict[int, Context]:
    """Keep a talk of ten turns, folded more than once, and give what its calls saw, by their ids."""
    talk = begin(store, name="talk")
    contexts = keep(store, talk, [turn_of(number) for number in range(1, 11)])
    calls = store.calls.newest_first(talk.id, purpose="chat")
    return dict(zip(sorted(call.id for call in calls), contexts, strict=True))


def _talk(store: Store) -> Conversation:
    return store.conversations.find("talk")


def test_call_json_is_what_the_call_saw_and_how_it_ended(run: Run, store: Store, seen: dict[int, Context]) -> None:
    document = run("context", "talk", "--call", str(MIDDLE), "--json").document

    context = seen[MIDDLE]
    last = max(part.last_message_id or 0 for part in context.parts)
    assert document["moment"] == {
        "origin": "recorded", "label": f"call {MIDDLE}, at #{last}", "last_message_id": last, "call": MIDDLE,
        "ended": {"status": "done", "error": None, "duration_ms": None},
    }  # fmt: skip
    assert document["tokens"] == context.tokens
    assert [(part["source"], part["tokens"], part["text"]) for part in _listed(document["parts"])] == [
        (part.source, part.tokens, part.text) for part in context.parts
    ]
    assert _mapping(document["reported"])["input_tokens"] == 100
    assert not {"next_fold", "warnings", "reuse", "lacks"} & set(document)


def test_call_tells_the_three_token_numbers_apart_and_raises_the_alarm(
    run: Run, store: Store, seen: dict[int, Context]
) -> None:
    lines = [line.strip() for line in run("context", "talk", "--call", str(MIDDLE)).out.splitlines()]

    assert f"budget:   {seen[MIDDLE].prompt_tokens:,} · characters ÷ 4, + 3 a message; every part adds up" in lines
    assert "reported: 100 · the prompt as fake counted it" in lines
    alarm = alarm_of(store, _talk(store).id, MIDDLE, seen[MIDDLE])
    assert alarm is not None
    assert f"alarm:    {alarm.text}" in lines
    assert run("context", "talk", "--call", str(MIDDLE), "--json").document["alarm"] == {
        "kind": alarm.kind, "text": alarm.text, "estimated_tokens": alarm.estimated, "reported_tokens": 100,
        "allotted_tokens": None, "exit_code": 4,
    }  # fmt: skip


@pytest.mark.parametrize("spelled", ["7", "#7", "m7"])
def test_at_shows_the_call_made_there(run: Run, seen: dict[int, Context], spelled: str) -> None:
    document = run("context", "talk", "--at", spelled, "--json").document

    assert _mapping(document["moment"])["origin"] == "recorded"
    assert _mapping(document["moment"])["last_message_id"] == 7


def test_at_rebuilds_a_moment_without_a_call_and_says_so(run: Run, seen: dict[int, Context]) -> None:
    outcome = run("context", "talk", "--at", "4", *POLICY)

    assert outcome.code == 0
    assert outcome.out.splitlines()[0] == (
        "talk  what a call would have seen at #4 · rebuilt: no call was made here · memory window"
    )
    assert "reported: – · no call was made" in [line.strip() for line in outcome.out.splitlines()]


def test_at_under_another_memory_is_rebuilt(run: Run, seen: dict[int, Context]) -> None:
    document = run("context", "talk", "--at", "7", "--memory", "turns", *POLICY, "--json").document

    assert (document["memory"], _mapping(document["moment"])["origin"]) == ("turns", "rebuilt")


def test_diff_json_says_what_stands_elsewhere(run: Run, store: Store, seen: dict[int, Context]) -> None:
    document = run("context", "talk", "--diff", "2", str(LATE), "--json").document

    changed = changes(seen[2], seen[LATE])
    assert (document["tokens"], _mapping(document["before"])["call"], _mapping(document["after"])["call"]) == (
        changed.tokens, 2, LATE,
    )  # fmt: skip
    for name in ("added", "dropped", "summarised", "clipped", "excluded"):
        assert document[name] == [list(pair) for pair in getattr(changed, name)]
    assert document["sources"] == [
        {"source": row.source, "before": row.before, "after": row.after} for row in changed.sources
    ]
    assert [part["change"] for part in _listed(document["parts"])] == [part.kind for part in changed.parts]
    assert changed.summarised
    assert _mapping(document["span_tokens"])["summarised"] == store.messages.token_sum(
        _talk(store).id, changed.summarised
    )


def test_diff_in_words_names_moments_fates_and_deltas(run: Run, store: Store, seen: dict[int, Context]) -> None:
    lines = run("context", "talk", "--diff", "2", str(LATE)).out.splitlines()

    changed = changes(seen[2], seen[LATE])
    first, last = next(iter(changed.summarised))
    assert lines[0] == f"talk  {of_call(store, _talk(store), 2).label} → {of_call(store, _talk(store), LATE).label}"
    assert lines[1] == f"{changed.tokens_before:,} → {changed.tokens_after:,} tokens, +{changed.tokens:,}"
    assert any(line.startswith(f" summarised: #{first}–#{last} (") for line in lines)


def test_diff_of_a_moment_with_itself_is_nothing(run: Run, seen: dict[int, Context]) -> None:
    outcome = run("context", "talk", "--diff", "next", "next", *POLICY)

    assert outcome.out == "talk  the next call → the next call\nnothing is different\n"


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (("--call", "99"), 3, "there is no call 99"),
        (("--at", "99"), 3, "there is no message #99"),
        (("--at", "yesterday"), 2, "--at 'yesterday' is no message's id"),
        (("--diff", "1", "zz"), 2, "'zz' names no moment"),
        (("--diff", "1", "m99"), 3, "there is no message #99"),
        (("--at", "3", "--call", "1"), 2, "--at and --call name two moments"),
        (("--diff", "1", "2", "--at", "3"), 2, "--diff does not go with --at"),
        (("--diff", "1", "2", "--raw"), 2, "--diff and --raw cannot be asked together"),
    ],
)
def test_a_moment_that_is_not_there_has_its_own_exit_code(
    run: Run, seen: dict[int, Context], flags: tuple[str, ...], code: int, message: str
) -> None:
    outcome = run("context", "talk", *flags)
    told = run("context", "talk", *flags, "--json").document["error"]

    assert (outcome.code, outcome.err.splitlines()[0]) == (code, f"error: {message}")
    assert (_mapping(told)["exit_code"], _mapping(told)["message"]) == (code, message)


def test_a_call_that_is_not_there_says_which_are(run: Run, store: Store, seen: dict[int, Context]) -> None:
    store.conversations.create(name="quiet")

    assert run("context", "talk", "--diff", "6", "7").err == (
        "error: call 6 saw no context: it folded\nhint: the last calls are 2, 3, 4, 5, 7, 8, 9, 10, 11, 13, 14, 15\n"
    )
    assert run("context", "quiet", "--call", "1").err == (
        "error: there is no call 1\nhint: no call was made; --at MESSAGE rebuilds any moment\n"
    )


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_of_a_past_call_or_a_diff_is_wider_than_the_terminal(
    store: Store, seen: dict[int, Context], width: int
) -> None:
    talk = _talk(store)
    before, after = of_call(store, talk, 2), of_call(store, talk, LATE)
    moment = MomentView(
        after, picture_of(store, talk, after), alarm_of(store, talk.id, LATE, after.context), "brief"
    )  # fmt: skip
    difference = ChangesView(
        talk, before, after, changes(before.context, after.context), {"summarised": 10, "added": 5}, "brief"
    )
    for view in (moment, difference):
        stream = io.StringIO()
        Console(file=stream, width=width, markup=False, highlight=False, emoji=False).print(view)
        assert max(map(len, stream.getvalue().splitlines())) <= width


def test_the_next_picture_tells_the_share_a_server_can_reuse(run: Run, store: Store, seen: dict[int, Context]) -> None:
    reuse = _mapping(run("context", "talk", *POLICY, "--json").document["reuse"])

    shared, total = reuse["tokens"], reuse["of_tokens"]
    assert isinstance(shared, int)
    assert isinstance(total, int)
    assert 0 < shared <= total
    line = f"a local server reuses about {shared:,} of {total:,} tokens"
    assert line in run("context", "talk", *POLICY).out


def _mapping(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    return value


def _listed(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value
