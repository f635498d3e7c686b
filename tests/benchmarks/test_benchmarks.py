from itertools import islice
from pathlib import Path

from memcli.store import Store
from tests.benchmarks.conversations import fill, history
from tests.benchmarks.figures import Bound, Figure, duration, table, times
from tests.benchmarks.timing import medians


def test_table_says_which_promise_is_kept() -> None:
    figures = [
        Figure("append", "2 ms", "peer 12 ms", 6.0, Bound("at least", 5)),
        Figure("start-up", "3 s", "floor 2 s", 1.5, Bound("at most", 1.3)),
        Figure("import", "5 MB", "itself 5 MB", 1.0),
    ]
    assert table(figures) == (
        "| what     | ours | against     | ratio | promise      | kept       |\n"
        "|----------|------|-------------|-------|--------------|------------|\n"
        "| append   | 2 ms | peer 12 ms  | 6.00× | at least 5×  | yes        |\n"
        "| start-up | 3 s  | floor 2 s   | 1.50× | at most 1.3× | **missed** |\n"
        "| import   | 5 MB | itself 5 MB | 1.00× |              |            |"
    )


def test_numbers_are_written_with_three_digits() -> None:
    assert [times(ratio) for ratio in (0.451, 12.34, 11_234.5)] == ["0.45×", "12.3×", "11,234×"]
    assert [duration(seconds) for seconds in (2.345, 0.012, 0.0000456)] == ["2.35 s", "12 ms", "45.6 µs"]


def test_rivals_take_turns_after_a_warm_up_of_each() -> None:
    calls: list[str] = []
    assert set(medians({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, samples=3)) == {"a", "b"}
    assert calls == ["a", "b", *"ab", *"ba", *"ab"]


def test_conversations_of_any_length_end_alike(tmp_path: Path) -> None:
    short, long = list(history(30)), list(history(900))
    assert [message.content for message in long[-len(short) :]] == [message.content for message in short]
    with Store(tmp_path / "s.db") as store:
        conversation = fill(store, 30)
        newest = islice(store.messages.newest_first(conversation), 3)
        assert [row.text for row in newest] == [message.content for message in reversed(short[-3:])]
