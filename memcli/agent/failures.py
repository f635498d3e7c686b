"""What comes out of any chat model when it fails, in memcli's own words. Translated once, here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memcli.errors import MemcliError, ModelError


@contextmanager
def translated(label: str, limit_tokens: int | None = None) -> Iterator[None]:
    """Run a model call; whatever it raises becomes a MemcliError naming the model. Ctrl-C passes through."""
    try:
        yield
    except MemcliError:
        raise
    except Exception as err:  # a model is any provider's code and raises what it likes
        raise _in_our_words(err, label, limit_tokens) from err


def _in_our_words(err: Exception, label: str, limit_tokens: int | None) -> MemcliError:
    from memcli.agent.ollama_failures import translate

    known = translate(err, limit_tokens)
    if known is not None:
        return known
    said = " ".join(str(err).split())[:300]
    return ModelError(f"{label} failed: {type(err).__name__}{f': {said}' if said else ''}", "run it again")
