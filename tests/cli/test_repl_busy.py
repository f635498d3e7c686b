"""Ctrl-C while a turn runs: the first one interrupts, its quick repetitions do not."""

from __future__ import annotations

import os
import signal

import pytest

from memcli.cli.busy import AGAIN_S, Early, interruptible, noting_ctrl_c


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_interrupts() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        press_ctrl_c()


def test_a_second_ctrl_c_at_once_does_not_interrupt_the_putting_away() -> None:
    put_away = False
    with interruptible(clock=lambda: 5.0):
        try:
            press_ctrl_c()
        except KeyboardInterrupt:
            press_ctrl_c()
            put_away = True

    assert put_away


def test_a_later_ctrl_c_interrupts_again() -> None:
    moments = iter([5.0, 5.0 + AGAIN_S])
    with interruptible(clock=lambda: next(moments)):
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c()


def test_ctrl_c_means_what_it_meant_before_when_it_is_over() -> None:
    before = signal.getsignal(signal.SIGINT)

    with interruptible():
        assert signal.getsignal(signal.SIGINT) is not before

    assert signal.getsignal(signal.SIGINT) is before


def test_between_two_turns_ctrl_c_is_noted_and_in_one_it_interrupts() -> None:
    early = Early()
    with noting_ctrl_c(early):
        press_ctrl_c()
        with pytest.raises(KeyboardInterrupt), interruptible():
            press_ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            early.heed()
        early.heed()
        press_ctrl_c()
        early.forget()
        early.heed()
