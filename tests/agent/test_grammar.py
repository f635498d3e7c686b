"""The grammar that holds an answer to so many sentences, as llama.cpp is told it."""

from __future__ import annotations

from memcli.agent.grammar import sentences_grammar


def test_so_many_sentences_in_one_paragraph_are_allowed_and_no_more() -> None:
    assert sentences_grammar(3).splitlines() == [
        'root ::= sentence (" "? sentence){0,2}',
        "sentence ::= char+ end",
        r"char ::= [^.!?\u3002\uff01\uff1f\n] | [.!?] [0-9a-z]",
        r"end ::= [.!?\u3002\uff01\uff1f]",
    ]
