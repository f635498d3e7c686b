"""Full-text search: any text is plain terms, every substring is found, nothing a person types is an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.records import Conversation, Hit
from memcli.store import Store
from tests.store.samples import message, messages


def _found(store: Store, text: str, talk: Conversation) -> list[int]:
    return sorted(hit.message_id for hit in store.search(text, conversation_id=talk.id, limit=100))


def test_a_hit_names_the_message_and_shows_where(store: Store, talk: Conversation) -> None:
    [stored] = store.messages.append(talk.id, [message("My reservation is ZFA04Y", "ai")])
    assert store.search("zfa04y") == [Hit(talk.id, 1, "ai", "My reservation is ZFA04Y", stored.created_at)]


def test_a_long_text_is_shown_around_the_term(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, [message("x " * 500 + "needle" + " y" * 500)])
    [hit] = store.search("needle")
    assert "needle" in hit.snippet
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert len(hit.snippet) <= 162


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("what's (", [1]), ('"', [2]), ("*", [3]), ("NEAR", [4]), ("AND", [4]), ("near", [4]),
        ("漢", [5]), ("漢字", [5]), ("漢字検", [5]), ("字検索", [5]), ("🛫", [6]), ("✈️", [6]), ("100%", [7]),
        ("%", [7]), ("_", [8]), ("snake_c", [8]), ("\\", [9, 11]), ("C:\\new", [9]), ("a\0b", [10]), ("\0", [10]),
        ("\u2400", [10]),
        ("\ud800", [11]), ("É", [12]), ("école", [12]), ("ÉCO", [12]), ("ς", [13]), ("ΑΣ", [13]), ("-", [14]),
        ("a:b", [14]), ("^", [14]), ("{col} :", [14]), ('"two words"', [15]), ('"words two"', []), ("words two", [15]),
        ("'; drop table messages; --", []), ("nothing like it", []), ("", []), ("   ", []), ("\n\t", []),
    ],
)  # fmt: skip
def test_fault_24_whatever_is_typed_is_looked_for_as_it_stands(
    store: Store, talk: Conversation, text: str, found: list[int]
) -> None:
    store.messages.append(
        talk.id,
        [
            message(text)
            for text in (
                "what's (that", 'he said "hi', "2 * 3", "NEAR here AND there", "漢字検索も", "off we go 🛫 ✈️",
                "100% sure",
                "snake_case", "C:\\new", "a\0b", "\ud800", "à l'école", "ΛΑΣ λας", "a:b ^ {col} - :", "two words",
            )
        ],
    )  # fmt: skip
    assert _found(store, text, talk) == found


@pytest.mark.parametrize(
    "query", ["x" * 10_000, "word " * 2_000, " ".join(f"w{n:04}" for n in range(2_000)), '"' * 9_999]
)
def test_fault_24_a_query_of_ten_thousand_characters_finds_its_message_and_no_other(
    store: Store, talk: Conversation, query: str
) -> None:
    store.messages.append(talk.id, [message("x" * 9_999), message(f"<{query}>"), message("word w0001")])
    assert 2 in _found(store, query, talk)
    assert 3 not in _found(store, " ".join([query, "<"]), talk)


@given(text=st.text(st.characters(exclude_categories=()), min_size=1, max_size=40), data=st.data())
def test_every_substring_of_a_message_finds_it(store: Store, text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    talk = store.conversations.create()
    store.messages.append(talk.id, [message(text)])
    query = text[start:end]
    assert _found(store, query, talk) == ([1] if query.strip() else [])


@given(query=st.text(st.sampled_from("ab\"'()*:^-+{}NEARORANDT \\%_漢🛫\0\ud800"), max_size=30))
def test_no_query_is_ever_a_syntax_error(store: Store, query: str) -> None:
    assert isinstance(store.search(query), list)


def test_every_term_must_be_there(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, [message("red apple"), message("red pear"), message("apple on red")])
    assert _found(store, "red apple", talk) == [1, 3]
    assert _found(store, "red on", talk) == [3]


def test_what_was_appended_after_the_last_search_is_found(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, [message("one apple")])
    assert _found(store, "apple", talk) == [1]
    store.messages.append(talk.id, [message("two apples")])
    assert _found(store, "apple", talk) == [1, 2]
    assert store.search.index() == 0


def test_a_search_while_another_writes_scans_what_is_not_indexed_yet(
    store: Store, other: Store, talk: Conversation
) -> None:
    store.messages.append(talk.id, [message("one apple")])
    store.search.index()
    store.messages.append(talk.id, [message("two apples")])
    with other.transaction():
        assert _found(store, "apple", talk) == [1, 2]


def test_the_index_says_how_many_messages_it_took_in(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(7))
    assert store.search.index() == 7
    assert store.search.index() == 0


def test_a_search_can_be_narrowed(store: Store, talk: Conversation) -> None:
    neighbour = store.conversations.create()
    store.messages.append(talk.id, messages(3))
    store.messages.append(neighbour.id, messages(1))
    assert len(store.search("message")) == 4
    assert len(store.search("message", limit=2)) == 2
    assert store.search("message", limit=0) == []
    assert [hit.message_id for hit in store.search("message", conversation_id=talk.id, up_to=1)] == [1]
    assert [hit.message_id for hit in store.search("me", conversation_id=talk.id, up_to=2)] == [2, 1]


def test_messages_of_a_failed_turn_are_found_too(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, [message("lost apple")])
    store.messages.mark(talk.id, [1], "failed")
    assert _found(store, "apple", talk) == [1]
