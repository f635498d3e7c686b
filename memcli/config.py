"""Settings and paths: what each setting means, where its value came from, and which one wins.

Precedence: flag > `MEMCLI_*` > project `.memcli.toml` > user `config.toml` > default. It refuses to know any command.
Nothing heavy is imported until a file is there to read: inspection commands start through here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Literal, cast

from memcli.errors import UsageError

Source = Literal["flag", "environment", "project", "user", "default"]

MAX_HISTORY_TOKENS = 3000
"""The window's budget. Source: MAX_HISTORY_TOKENS of the Enthusiast design."""
COMPACTION_INTERVAL = 10
"""Human messages between two compactions. Source: the Enthusiast design's compactor."""
TURN_SUMMARY_WINDOW = 10
"""Turn summaries kept beside the ongoing turn. Source: the OpenDataSci design."""
DEFAULT_LIMIT_TOKENS = 8192
"""The context limit when the model's own is larger or unknown; keeps a laptop's memory use bounded."""


def _setting(default: object, help: str, choices: tuple[str, ...] = (), least: float | None = None) -> object:
    return field(default=default, metadata={"help": help, "choices": choices, "least": least})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting, by the one name it has as a flag, in a file and as `MEMCLI_*`."""

    db: str = cast(str, _setting("", "the store's file; empty means the user data directory"))
    model: str = cast(str, _setting("", "an Ollama model, `embedded[:PATH]` or `provider:model`; empty chooses"))
    memory: str = cast(str, _setting("window", "the memory model of new conversations", ("window", "turns")))
    max_tokens: int = cast(int, _setting(MAX_HISTORY_TOKENS, "the window's budget in tokens", least=1))
    compact_every: int = cast(int, _setting(COMPACTION_INTERVAL, "human messages between compactions", least=1))
    compact_on_overflow: bool = cast(bool, _setting(True, "also fold when uncovered messages leave the window"))
    summarizer: str = cast(str, _setting("", "who summarises; empty chooses by model", ("", "model", "extractive")))
    summary_tokens: int = cast(int, _setting(500, "the most a summary's text may take, in tokens", least=50))
    values_tokens: int = cast(int, _setting(200, "the most its carried exact values may take, in tokens", least=0))
    max_summaries: int = cast(int, _setting(TURN_SUMMARY_WINDOW, "turn summaries kept (memory `turns`)", least=1))
    on_full: str = cast(str, _setting("fold", "what happens to the oldest turn summaries", ("fold", "clear")))
    limit_tokens: int = cast(int, _setting(0, "the context limit; 0: the smaller of 8,192 and the model's", least=0))
    output_reserve: int = cast(int, _setting(1024, "tokens of the limit kept for the answer", least=1))
    window_step: int = cast(int, _setting(0, "tokens by which the window's start moves; 0 slides every turn", least=0))
    max_rounds: int = cast(int, _setting(8, "the most model calls in one turn", least=1))
    timeout_s: float = cast(float, _setting(120.0, "seconds without a token until a call is given up", least=0.1))
    busy_timeout_s: float = cast(float, _setting(30.0, "seconds to wait for a locked store", least=0.0))
    threads: int = cast(int, _setting(0, "threads of the embedded model; 0 means physical cores minus one", least=0))
    delegate: bool = cast(bool, _setting(False, "offer the agent a tool that gives tasks to sub-agents"))
    max_depth: int = cast(int, _setting(2, "the most sub-agents below one another", least=1))
    system_prompt: str = cast(str, _setting("", "the system prompt of new conversations"))


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings in force, and where each one came from."""

    settings: Settings
    sources: Mapping[str, Source]
    files: Mapping[str, Path]
    """The configuration files that were read: `project` and `user`."""

    def came_from(self, name: str) -> Source:
        """Name the source of one setting."""
        return self.sources[name]


def resolve(
    flags: Mapping[str, object], environ: Mapping[str, str] = os.environ, start: Path | None = None
) -> Resolved:
    """Combine every source of settings.

    A flag that is None was not given. `start` is where the search for `.memcli.toml` begins; None means the working
    directory. Raises UsageError naming the source, the setting and what it accepts.
    """
    files: dict[str, Path] = {}
    layers: list[tuple[Source, Mapping[str, object]]] = []
    for source, path in (("user", user_config_path()), ("project", project_config_path(start))):
        if path is not None and path.is_file():
            files[source] = path
            layers.append((cast("Source", source), _read_toml(path)))
    layers.append(("environment", _from_environment(environ)))
    layers.append(("flag", {name: value for name, value in flags.items() if value is not None}))
    values: dict[str, object] = {}
    sources: dict[str, Source] = {setting.name: "default" for setting in fields(Settings)}
    for source, layer in layers:
        for name, raw in layer.items():
            values[name] = parse(name, raw, str(files.get(source, source)))
            sources[name] = source
    return Resolved(Settings(**values), sources, files)  # type: ignore[arg-type]


def parse(name: str, raw: object, where: str) -> object:
    """Turn one setting's raw value into its type, or raise UsageError saying what it accepts."""
    setting = _field(name, where)
    kind = type(setting.default)
    value = _coerce(raw, kind)
    if value is None:
        raise UsageError(f"{name} = {raw!r} is not {_NOUNS[kind]}", f"set in {where}; {setting.metadata['help']}")
    choices = setting.metadata["choices"]
    if choices and value not in choices:
        known = " or ".join(choice for choice in choices if choice)
        raise UsageError(f"{name} = {raw!r} is not known", f"set in {where}; use {known}")
    least = setting.metadata["least"]
    if least is not None and cast(float, value) < least:
        raise UsageError(f"{name} = {raw} is too small", f"set in {where}; the least is {least:g}")
    if isinstance(value, (int, float)) and value > _MOST:
        raise UsageError(f"{name} = {raw} is too large", f"set in {where}; the most is {_MOST:,}")
    return value


def describe() -> list[tuple[str, object, str]]:
    """List each setting's name, default and meaning, in the order they are declared."""
    return [(setting.name, setting.default, str(setting.metadata["help"])) for setting in fields(Settings)]


def user_config_path() -> Path:
    """Locate the user's `config.toml`; the file need not exist."""
    return _user_directory("config") / "config.toml"


def project_config_path(start: Path | None = None) -> Path | None:
    """Find the nearest `.memcli.toml`, from `start` upwards, stopping at a repository's root or the home directory."""
    try:
        here = (start or Path.cwd()).resolve()
    except OSError:
        return None
    for folder in (here, *here.parents):
        if (folder / ".memcli.toml").is_file():
            return folder / ".memcli.toml"
        if (folder / ".git").exists() or folder == Path.home():
            return None
    return None


def store_path(settings: Settings) -> Path:
    """Locate the store: the setting `db`, or `memcli.db` in the user data directory."""
    if settings.db:
        return Path(settings.db).expanduser()
    return _user_directory("data") / "memcli.db"


def prompt_history_path() -> Path:
    """Locate the file that keeps what was typed at the prompt."""
    return _user_directory("state") / "prompt_history"


def private_directory(path: Path) -> None:
    """Make a directory of ours, readable by its owner only. An existing one is left as it is."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


_MOST = 100_000_000
_NOUNS: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
_TRUTHS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _field(name: str, where: str) -> Field[object]:
    for setting in fields(Settings):
        if setting.name == name:
            return setting
    import difflib

    close = difflib.get_close_matches(name, [setting.name for setting in fields(Settings)], n=1)
    raise UsageError(
        f"no setting is called {name!r} (in {where})",
        f"did you mean {close[0]!r}?" if close else "run `memcli config` to list the settings",
    )


def _coerce(raw: object, kind: type) -> object | None:
    text = raw if isinstance(raw, str) else None
    if kind is bool:
        return raw if isinstance(raw, bool) else _TRUTHS.get((text or "").strip().lower())
    if kind is str:
        return raw if text is not None else None
    if isinstance(raw, bool):
        return None
    try:
        if kind is int and isinstance(raw, float):
            return None
        value = kind(text.replace("_", "").replace(",", "")) if text is not None else kind(raw)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if value == value else None


def _from_environment(environ: Mapping[str, str]) -> Mapping[str, object]:
    found: dict[str, object] = {}
    for setting in fields(Settings):
        value = environ.get(f"MEMCLI_{setting.name.upper()}")
        if value is not None and (value or setting.type == "str"):
            found[setting.name] = value
    return found


def _read_toml(path: Path) -> Mapping[str, object]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as err:
        raise UsageError(f"{path} cannot be read: {err}", "mend the file, or move it away") from err


def _user_directory(kind: Literal["config", "data", "state"]) -> Path:
    """Locate one of the user's directories: where MEMCLI_*_DIR says, else where the platform has it."""
    override = os.environ.get(f"MEMCLI_{kind.upper()}_DIR")
    if override:
        return Path(override)
    import platformdirs

    return cast(Path, getattr(platformdirs, f"user_{kind}_path")("memcli", appauthor=False))
