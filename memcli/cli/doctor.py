"""`memcli doctor`: whether the store is sound, which model would answer, and where the settings come from.

A model server that does not answer is information; only the store can fail the check, with exit code 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer

from memcli.cli import output
from memcli.cli.checkup import Problems, examine_model, examine_problems, examine_server, examine_store, has_embedded
from memcli.cli.config import setting_rows
from memcli.cli.options import Db, Json, Model, NoColor, Quiet
from memcli.cli.session import reading
from memcli.cli.setting_flags import with_settings
from memcli.errors import StoreUnusable
from memcli.records import Problem


@with_settings("doctor")
def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended; nothing is lost.")] = False,
    as_json: Json = False,
    db: Db = None,
    model: Model = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
    **settings: object,
) -> None:
    """Check the store, the model and every conversation.

    The exit code is 0 when the store is sound or everything was mended, and 7 when a problem is left.
    """
    with reading(db=db, quiet=quiet, no_color=no_color, model=model, more=settings) as session:
        store = examine_store(session)
        problems = examine_problems(session, fix=fix)
        if as_json:
            body = {
                "store": {**asdict(store), "mode": f"{store.mode:04o}"},
                "model": asdict(examine_model(session)),
                "server": asdict(examine_server()),
                "embedded": {"available": has_embedded()},
                "settings": setting_rows(session.resolved),
                "problems": _problem_rows(problems),
            }
            session.terminal.write(output.document(body))
        else:
            from memcli.cli.render import doctor as render

            show = session.terminal.show
            show(render.store_text(store))
            show(render.problems_text(problems))
            show(render.model_text(examine_model(session)))
            show(render.server_text(examine_server()))
            show(render.embedded_text("available" if has_embedded() else "not installed"))
            show(render.settings_text(setting_rows(session.resolved)))
            if not fix and any(problem.fix for problem in problems.left):
                session.terminal.note("run `memcli doctor --fix` to mend what can be mended")
    if problems.left:
        raise typer.Exit(StoreUnusable.exit_code)


def _problem_rows(problems: Problems) -> list[Mapping[str, object]]:
    return [_problem_row(problem, "fixed") for problem in problems.fixed] + [
        _problem_row(problem, "left") for problem in problems.left
    ]


def _problem_row(problem: Problem, status: str) -> Mapping[str, object]:
    return {
        "where": problem.where,
        "what": problem.what,
        "conversation": problem.conversation_id,
        "fix": problem.fix,
        "status": status,
    }
