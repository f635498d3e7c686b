"""Every setting is a flag of the same name, on the commands where it matters."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

import pytest
import typer
from typer.main import get_command

from memcli.cli.main import COMMANDS
from memcli.cli.setting_flags import EVERY, MATTERS, flag_of
from memcli.config import describe
from memcli.store import Store
from tests.cli.conftest import Run
from tests.ollama_server import FakeOllama

GIVEN = {"memory": "turns", "summarizer": "extractive", "on_full": "clear"}
"""Values of the settings that take only certain words."""
VALUES = {name: GIVEN.get(name, "x.db" if name == "db" else "4000") for name, _, _ in describe()}
TRUTHS = {name for name, default, _ in describe() if isinstance(default, bool)}


def flags_of(home: str) -> set[str]:
    """Name every flag of a command."""
    module, function = home.split(":")
    app = typer.Typer(add_completion=False)
    app.command()(getattr(import_module(f"memcli.cli.{module}"), function))
    params = cast("list[object]", get_command(app).params)
    return {flag for param in params for flag in (*param.opts, *param.secondary_opts)}  # type: ignore[attr-defined]


def test_every_setting_matters_to_some_command_that_does_something() -> None:
    assert set(EVERY) == {name for command, names in MATTERS.items() if command != "config" for name in names}
    assert {entry.name for entry in COMMANDS} == set(MATTERS)


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_a_command_has_a_flag_for_every_setting_that_matters_to_it(entry: object) -> None:
    name, home = entry.name, entry.home  # type: ignore[attr-defined]
    wanted = {flag_of(setting) for setting in MATTERS[name]}
    wanted |= {f"--no-{flag_of(setting)[2:]}" for setting in MATTERS[name] if setting in TRUTHS}
    assert wanted - flags_of(home) == set()


@pytest.mark.parametrize("name", [name for name in EVERY if name not in TRUTHS])
def test_a_setting_given_as_a_flag_wins(run: Run, name: str) -> None:
    rows = run("config", flag_of(name), VALUES[name], "--json").listed("settings")
    row = next(row for row in rows if row["name"] == name)
    assert (str(row["value"]).removesuffix(".0"), row["source"]) == (VALUES[name], "flag")


@pytest.mark.parametrize("name", sorted(TRUTHS))
@pytest.mark.parametrize("is_on", [True, False])
def test_a_setting_that_is_true_or_false_has_a_flag_for_each(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, is_on: bool
) -> None:
    monkeypatch.setenv(f"MEMCLI_{name.upper()}", "0" if is_on else "1")
    flag = flag_of(name) if is_on else f"--no-{flag_of(name)[2:]}"
    rows = run("config", flag, "--json").listed("settings")
    row = next(row for row in rows if row["name"] == name)
    assert (row["value"], row["source"]) == (is_on, "flag")


def test_a_flag_that_cannot_be_is_refused_as_a_setting_is(run: Run) -> None:
    said = run("history", "--busy-timeout-s", "soon")
    assert (said.code, said.err) == (
        2,
        "error: busy_timeout_s = 'soon' is not a number\n"
        "hint: set in flag; seconds to wait for a locked store\n",
    )  # fmt: skip


def test_delegate_is_offered_by_its_flag_and_taken_away_by_the_other(
    run: Run, server: FakeOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("chat", "Hi", "--delegate", "-q")
    monkeypatch.setenv("MEMCLI_DELEGATE", "1")
    run("chat", "Hi", "-q")
    run("chat", "Hi", "--no-delegate", "-q")

    offered = ['"delegate"' in request.body.decode() for request in server.requests if request.path == "/api/chat"]
    assert offered == [True, True, False]


def test_what_a_chat_is_held_under_by_flags_is_what_the_inspector_goes_by(
    run: Run, server: FakeOllama, store: Store
) -> None:
    run("chat", "Hi", "--name", "talk", "--compact-every", "5", "--window-step", "60", "--output-reserve", "99", "-q")

    kept = store.conversations.find("talk").settings
    assert {name: kept[name] for name in ("compact_every", "window_step", "output_reserve")} == {
        "compact_every": 5, "window_step": 60, "output_reserve": 99,
    }  # fmt: skip
    assert run("context", "talk", "--json").document["next_fold"] == {
        "reason": None, "user_messages_left": 4, "first_message_id": 1, "last_message_id": 2,
    }  # fmt: skip


@pytest.mark.parametrize("how", ["--system-prompt", "--system", "setting"])
def test_a_new_conversation_begins_with_the_system_prompt(
    run: Run, server: FakeOllama, store: Store, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "setting":
        monkeypatch.setenv("MEMCLI_SYSTEM_PROMPT", "Be kind.")
    run("chat", "Hi", "--name", "talk", *([] if how == "setting" else [how, "Be kind."]), "-q")

    assert store.conversations.find("talk").system_prompt == "Be kind."


def test_an_import_is_kept_under_the_budget_it_is_given(run: Run, store: Store, home: Path) -> None:
    (home / "chat.jsonl").write_text('{"id": "a", "messages": [{"role": "user", "content": "Hi"}]}\n')

    assert run("import", "chat.jsonl", "--max-tokens", "50").code == 0

    assert store.conversations.find("a").settings == {"max_tokens": 50}
    assert run("context", "a", "--json").document["max_tokens"] == 50
