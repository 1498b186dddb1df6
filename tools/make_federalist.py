"""Count words of the Federalist Papers: how ``federalist.csv`` was made.

    python tools/make_federalist.py federalist_papers.csv.gz bayesnb/datasets/federalist.csv

The first argument is a table with a row per essay and the columns ``number``, ``author_mw`` and ``text``; the second is
the file to write. The text is that of Project Gutenberg's e-book 18 without its boilerplate and without its second
version of No. 70, as in ``federalist`` of the R package corpus (Perry, Apache-2.0). The essays themselves (1787-88) are
in the public domain, and stay outside.
"""

import re
import sys
from collections import Counter
from typing import Any

import pandas as pd

from bayesnb.datasets import FINAL_WORDS

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
    count_words(pd.read_csv(sys.argv[1])).to_csv(sys.argv[2], index=False, lineterminator="\n")
