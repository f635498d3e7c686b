"""`memcli compact`: fold conversations now, say what a fold would do, or take folds back.

It refuses to know how a fold is made: `memory.running` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal

import typer

from memcli.cli import options
from memcli.cli.memories import memory_of
from memcli.cli.output import document
from memcli.cli.policy import policy_for, settings_for
from memcli.cli.session import Session, writing
from memcli.cli.summarizers import Chosen, choose_summarizer, standing_in
from memcli.cli.terminal import Terminal
from memcli.config import Settings
from memcli.errors import Interrupted, MemcliError, ModelError, StoreLocked, StoreUnusable, UsageError
from memcli.memory.fold import FoldResult
from memcli.memory.proposal import propose
from memcli.memory.running import settle, undo
from memcli.records import Conversation

REJECTED_CODE = 5
"""A fold that came to nothing acceptable; the store is as it was."""

All = Annotated[bool, typer.Option("--all", help="Every conversation of the store.")]
IfNeeded = Annotated[bool, typer.Option("--if-needed", help="Only where a fold is due.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be folded; call no model, change nothing.")]
Undo = Annotated[
    str | None, typer.Option("--undo", metavar="N", help="Take back the last N compactions; none is deleted.")
]
Instructions = Annotated[
    str | None, typer.Option("--instructions", metavar="TEXT", help="What the summary should mind, for this fold.")
]
WhoSummarises = Annotated[
    Literal["model", "extractive"] | None,
    typer.Option("--summarizer", help="A model, or the extractive one that costs no call."),
]
