"""Work in the background: done once, waited for, its error carried to whoever waits."""

from __future__ import annotations

import threading

import pytest

from memcli.cli.repl.loading import Loading
from memcli.errors import ModelUnreachable


def test_it_is_done_once_and_in_another_thread() -> None:
    threads: list[str] = []
    loading = Loading(lambda: threads.append(threading.current_thread().name))

    loading.wait()
    loading.wait()

    assert threads == ["memcli-loading"]


def test_its_error_is_raised_where_it_is_waited_for() -> None:
    def fail() -> None:
        raise ModelUnreachable("no model")

    loading = Loading(fail)

    with pytest.raises(ModelUnreachable, match="no model"):
        loading.wait()
    assert isinstance(loading.error, ModelUnreachable)


def test_its_end_is_told() -> None:
    ended = threading.Event()
    loading = Loading(lambda: None, ended.set)

    loading.wait()

    assert ended.wait(10)
