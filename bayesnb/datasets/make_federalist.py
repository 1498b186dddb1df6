"""Count words of the Federalist Papers: how ``federalist.csv`` was made.

    python -m bayesnb.datasets.make_federalist federalist_papers.csv.gz

The argument is a table with a row per essay and the columns ``number``, ``author_mw`` and ``text``. The text is that of
Project Gutenberg's e-book 18 without its boilerplate and without its second version of No. 70, as in ``federalist`` of
the R package corpus (Perry, Apache-2.0). The essays themselves (1787-88) are in the public domain, and stay outside.
"""

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["COUNTS", "FINAL_WORDS", "FUNCTION_WORDS", "count_words"]

COUNTS = Path(__file__).with_name("federalist.csv")
"""The counts that the package carries."""

TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?")
"""A word, in lower case: letters, with at most one apostrophe among them."""

FUNCTION_WORDS = tuple(
    """
    a all also an and any are as at be been but by can do down even every for from had has have her his if in into is it
    its may more must my no not now of on one only or our shall should so some such than that the their then there
    things this to up upon was were what when which who will with would your
    """.split()  # noqa: SIM905 (readable)
)
"""Mosteller and Wallace's seventy function words."""

STEMS = {
    "considerable(ly)": ("considerable", "considerably"),
    "innovation(s)": ("innovation", "innovations"),
    "matter(s)": ("matter", "matters"),
    "vigor(ous)": ("vigor", "vigorous"),
    "work(s)": ("work", "works"),
}
"""Words that are counted as one."""

FINAL_WORDS = tuple(
    """
    according also although always an apt both by commonly consequently considerable(ly) direction enough innovation(s)
    kind language matter(s) of on particularly probability there this though to upon vigor(ous) while whilst work(s)
    """.split()  # noqa: SIM905 (readable)
)
"""The thirty words of their final choice, which tell Hamilton from Madison best."""


def count_words(essays: Any) -> Any:
    """Counts of both lists of words.

    Parameters
    ----------
    essays : pandas.DataFrame
        Columns ``number``, ``author_mw`` and ``text``.

    Returns
    -------
    pandas.DataFrame
        Columns ``number``, ``author``, ``length`` (all words) and one for each word.
    """
    columns = (*FUNCTION_WORDS, *(word for word in FINAL_WORDS if word not in FUNCTION_WORDS))
    rows = []
    for text in essays["text"]:
        counted = Counter(TOKEN.findall(text.lower()))
        rows.append([counted.total(), *(sum(counted[form] for form in STEMS.get(word, [word])) for word in columns)])
    counts = pd.DataFrame(rows, columns=["length", *columns], index=essays.index)
    counts.insert(0, "number", essays["number"])
    counts.insert(1, "author", essays["author_mw"])
    return counts


if __name__ == "__main__":
    count_words(pd.read_csv(sys.argv[1])).to_csv(COUNTS, index=False, lineterminator="\n")
