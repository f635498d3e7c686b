"""A grammar that holds an answer to so many sentences: the rule a small model cannot keep by itself.

It is written in GBNF, llama.cpp's own notation. It refuses to know what the sentences are of.
"""

from __future__ import annotations


def sentences_grammar(most: int) -> str:
    """Allow one to so many sentences in one paragraph, each whole: the answer ends after the last one's end.

    A full stop before a digit or a small letter is inside a sentence: an amount, an address, a file's name.
    """
    return (
        f'root ::= sentence (" "? sentence){{0,{most - 1}}}\n'
        "sentence ::= char+ end\n"
        r"char ::= [^.!?\u3002\uff01\uff1f\n] | [.!?] [0-9a-z]"
        "\n"
        r"end ::= [.!?\u3002\uff01\uff1f]"
        "\n"
    )
