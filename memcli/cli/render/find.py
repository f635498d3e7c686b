"""Why it was forgotten, on a screen: a verdict over all, then each message that says it and what became of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.render.palette import ROLE_NAMES, STYLE_OF, Detail, counted
from memcli.cli.render.sections import inside
from memcli.cli.render.words import called
from memcli.memory.find import Finding, Mode, Place, overall
from memcli.memory.travel import Moment
from memcli.records import Conversation

MOST_FINDINGS = 12
"""Messages shown at most, short of --full: the newest."""
_STYLES: Mapping[Place, str] = {
    "verbatim": STYLE_OF["window"],
    "clipped": "yellow",
    "summarised": STYLE_OF["summary"],
    "forgotten": "bold red",
    "excluded": "dim",
    "later": "dim",
}
_HOW: Mapping[Mode, str] = {"text": "", "word": " as a word", "exact": " exactly"}


@dataclass(frozen=True, slots=True)
class FindView:
    """What was found, as it is shown."""

    conversation: Conversation
    moment: Moment
    text: str
    mode: Mode
    findings: Sequence[Finding]
    detail: Detail

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Write the verdict, the count, and a block a message."""
        within = inside(options, self.detail)
        yield from console.render(self._heading(), within)
        if not self.findings:
            return
        shown = self.findings if self.detail != "brief" else self.findings[-MOST_FINDINGS:]
        yield Text("")
        if len(shown) < len(self.findings):
            yield Text(f"… {counted(len(self.findings) - len(shown), 'earlier message')} (--full)", "dim")
        for finding in shown:
            for line in self._lines(finding):
                yield from console.render(line, within)

    def _heading(self) -> Text:
        name = called(self.conversation)
        where = "what the agent sees next" if self.moment.origin == "next" else _moment(self.moment)
        shown = Text.assemble((name, "bold"), (f" · {where} · memory {self.moment.context.memory}\n", "dim"))
        verdict = clean_line(overall(self.text, self.findings))
        shown.append(verdict, _verdict_style(self.findings))
        if self.findings:
            says = "message says it" if len(self.findings) == 1 else "messages say it"
            shown.append(f"\n{len(self.findings):,} {says}{_HOW[self.mode]}: ").append_text(_tally(self.findings))
        return shown

    def _lines(self, finding: Finding) -> list[Text]:
        """Write one message: what became of it, and beneath that the words around what it says."""
        head = Text.assemble(
            (f"#{finding.message_id}", "bold"), f" {ROLE_NAMES.get(finding.role, finding.role)}  ",
            (clean_line(_rest(finding)), _STYLES[finding.place]),
        )  # fmt: skip
        excerpt = Text(f"    {clean_line(finding.excerpt)}", "dim")
        wanted = r"\s+".join(re.escape(word) for word in self.text.split())
        excerpt.highlight_regex(re.compile(wanted, 0 if self.mode == "exact" else re.IGNORECASE), "bold not dim")
        if self.detail == "brief":
            excerpt.no_wrap, excerpt.overflow = True, "ellipsis"
        return [head, excerpt]


def _rest(finding: Finding) -> str:
    """Take the verdict without the message's id, which stands before it."""
    where = " (said in a tool call's arguments)" if finding.in_arguments else ""
    return finding.verdict.partition("; ")[2] + where


def _moment(moment: Moment) -> str:
    if moment.call is not None:
        return f"what call {moment.call.id} saw, at #{moment.last_message_id}"
    return f"what a call would have seen at #{moment.last_message_id}"


def _verdict_style(findings: Sequence[Finding]) -> str:
    if any(finding.is_shown for finding in findings):
        return "bold green"
    told = any(finding.summary_says or finding.values_say for finding in findings)
    return "bold yellow" if told or not findings else "bold red"


def _tally(findings: Sequence[Finding]) -> Text:
    """Count the messages by where they stand, in the order of the ledger."""
    places = [finding.place for finding in findings]
    counts = [
        Text.assemble(f"{places.count(place):,} ", (_LONG.get(place, place), style))
        for place, style in _STYLES.items()
        if place in places
    ]
    return Text(", ").join(counts)


_LONG: Mapping[Place, str] = {"later": "later than this moment"}
