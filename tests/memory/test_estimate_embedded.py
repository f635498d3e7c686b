"""The estimate against the embedded model's own tokenizer: an English-centred one, which none of it was fitted to."""

from __future__ import annotations

import inspect
import json
import textwrap
from statistics import median

import pytest

from memcli.agent import embedded
from memcli.memory.tokens import calibrated, estimate_tokens
from tests.memory.held_out import HELD_OUT

pytestmark = pytest.mark.skipif(not embedded.available(), reason="the embedded model is not installed")


@pytest.fixture(scope="module")
def model() -> embedded.EmbeddedChat:
    return embedded.EmbeddedChat(n_ctx=2048, threads=1)


@pytest.mark.parametrize("kind", ["english", "emoji"])
def test_it_is_within_15_percent_in_the_median_without_a_call(model: embedded.EmbeddedChat, kind: str) -> None:
    errors = [abs(estimate_tokens(text) / model.count_tokens(text) - 1) for text, *_ in HELD_OUT[kind]]

    assert median(errors) <= 0.15


def test_it_is_within_15_percent_in_the_median_on_the_standard_library(model: embedded.EmbeddedChat) -> None:
    sources = [inspect.getsource(module) for module in (inspect, json, json.decoder, json.encoder, textwrap)]
    texts = [source[start : start + 1500] for source in sources for start in range(0, len(source) - 1500, 9000)]

    errors = [abs(estimate_tokens(text) / model.count_tokens(text) - 1) for text in texts]

    assert median(errors) <= 0.15


@pytest.mark.parametrize("kind", HELD_OUT)
def test_one_call_in_a_script_corrects_it_for_the_others(model: embedded.EmbeddedChat, kind: str) -> None:
    first, *others = [(estimate_tokens(text), model.count_tokens(text)) for text, *_ in HELD_OUT[kind]]

    errors = [abs(calibrated(estimated, [first]) / tokens - 1) for estimated, tokens in others]

    assert median(errors) <= 0.15
