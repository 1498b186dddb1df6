"""Small tables for examples, tests and the command line."""

from pathlib import Path
from typing import Any

from bayesnb.core.checking import one_of
from bayesnb.core.deferred import pd

__all__ = ["anesthesia", "federalist", "penguins", "penguins_path"]


def __dir__() -> list[str]:
    return __all__


FINAL_WORDS = tuple(
    """
    according also although always an apt both by commonly consequently considerable(ly) direction enough innovation(s)
    kind language matter(s) of on particularly probability there this though to upon vigor(ous) while whilst work(s)
    """.split()  # noqa: SIM905 (readable)
)
"""The thirty words of Mosteller and Wallace's final choice, which tell Hamilton from Madison best."""


def anesthesia() -> Any:
    """Ratings of 45 patients by five anesthetists: how fit is the patient for a general anesthesia?

    Returns
    -------
    pandas.DataFrame
        One row for each of the 315 ratings, with the columns patient (1 to 45), anesthetist (1 to 5) and rating (1, the
        fittest, to 4). Anesthetist 1 rated every patient three times, the others once.

    See Also
    --------
    bayesnb.fit_annotations : Labels of items from annotators who may be wrong.

    Notes
    -----
    Table 1 of Dawid and Skene (1979), *Applied Statistics* 28(1), 20-28. The anesthetists rated the patients from the
    same forms. Anesthetist 1 rated the forms on three occasions, some weeks apart.

    Examples
    --------
    >>> import bayesnb as nb
    >>> ratings = nb.datasets.anesthesia()
    >>> len(ratings), ratings["rating"].value_counts().sort_index().to_dict()
    (315, {1: 127, 2: 125, 3: 48, 4: 15})
    """
    return pd.read_csv(Path(__file__).with_name("anesthesia.csv"))


def federalist(words: str = "function") -> tuple[Any, Any]:
    """Counts of words in the 85 Federalist Papers (1787-88), and who wrote them.

    Parameters
    ----------
    words : {"function", "final"}, default "function"
        The seventy function words of Mosteller and Wallace, or the thirty words of their final choice, where
        ``considerable(ly)`` and the like are counted as one word.

    Returns
    -------
    tuple
        The counts, a pandas frame indexed by the essay's number with a column for each word and, last, ``(other)`` for
        all other words, so that a row adds up to the length of the essay; and the authors, a pandas series of the same
        index: Hamilton (51 essays), Madison (14), disputed (12: Nos. 49-58, 62, 63), Jay (5), joint (3).

    Raises
    ------
    ValueError
        If there is no such choice of words.

    See Also
    --------
    bayesnb.datasets.penguins : The table of the Palmer penguins.
    bayesnb.plot_log_odds : Log odds of rows with intervals.

    Notes
    -----
    Words and attributions are those of Mosteller and Wallace (1963), *Journal of the American Statistical Association*
    58, 275-309, and (1964), *Inference and Disputed Authorship: The Federalist*. The thirty words were chosen for
    telling Hamilton from Madison, in part by these very essays, so that they look better on the essays of known
    authors than they are. `tools/make_federalist.py` made the counts from the text.

    Examples
    --------
    >>> import bayesnb as nb
    >>> counts, authors = nb.datasets.federalist()
    >>> counts.loc[[1, 10], ["to", "upon", "(other)"]].assign(author=authors)
             to  upon  (other)    author
    number
    1        72     6      784  Hamilton
    10      100     0     1531   Madison
    """
    table = pd.read_csv(Path(__file__).with_name("federalist.csv"), index_col="number")
    of_words = table.drop(columns=["author", "length"])
    chosen = {"function": of_words.columns[:70], "final": FINAL_WORDS}
    one_of("words", words, chosen)
    counts = of_words[list(chosen[words])]
    return counts.assign(**{"(other)": table["length"] - counts.sum(axis=1)}), table["author"]


def penguins_path() -> Path:
    """Path of the table of the Palmer penguins, a CSV file that comes with the package.

    See Also
    --------
    bayesnb.datasets.penguins : The table of the Palmer penguins.

    Notes
    -----
    Measured by Gorman, Williams and Fraser (2014), *PLoS ONE* 9(3) e90081; compiled by Horst, Hill and Gorman (2020),
    *palmerpenguins*, doi:10.5281/zenodo.3960218, and dedicated to the public domain (CC0).

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.datasets.penguins_path().name
    'penguins.csv'
    """
    return Path(__file__).with_name("penguins.csv")


def penguins() -> tuple[Any, Any]:
    """Measurements of 344 penguins of three species, with missing cells.

    Returns
    -------
    tuple
        The table, a pandas frame with the columns island, bill_length_mm, bill_depth_mm, flipper_length_mm, body_mass_g
        and sex; and the species.

    See Also
    --------
    bayesnb.datasets.penguins_path : The path of the table.
    bayesnb.datasets.federalist : Word counts of the Federalist Papers.

    Notes
    -----
    Measured by Gorman, Williams and Fraser (2014), *PLoS ONE* 9(3) e90081; compiled by Horst, Hill and Gorman (2020),
    *palmerpenguins*, doi:10.5281/zenodo.3960218, and dedicated to the public domain (CC0).

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> X.shape, y.value_counts().to_dict()
    ((344, 6), {'Adelie': 152, 'Gentoo': 124, 'Chinstrap': 68})
    """
    table = pd.read_csv(penguins_path())
    return table.drop(columns=["species", "year"]), table["species"]
