"""What a fit to annotations gives."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import entr, rel_entr

import bayesnb as nb
from bayesnb.core.arrays import coordinate
from bayesnb.core.checking import listed, proportion, warn, whole_number
from bayesnb.core.deferred import map_tree, xr
from bayesnb.core.panels import PROB
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed, counted
from bayesnb.crowd.annotation_table import AnnotationTable, LabelDraws, most_informative, read_labels_of_items
from bayesnb.crowd.figures import AnnotationFigures, is_point_estimate, positions_of
from bayesnb.posterior.files import save

# --------------------------------------------------------------------------------------------------
# What a fit of annotations gives
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class AnnotationFit(Printed, AnnotationFigures):
    """The result of `fit_annotations`: labels of items, and how good each annotator is.

    Attributes
    ----------
    annotations : AnnotationTable
        The annotations by item.
    posterior : Posterior
        The posterior of the class probabilities, ``class_prob``, and of the annotators' probabilities,
        ``annotation_prob`` (class, annotator, label).
    item, annotator : str
        Names of the columns of the table.

    Notes
    -----
    A point estimate, such as that of `EM()`, has no intervals: ``lower`` and ``upper`` are missing, and the methods
    that give intervals raise an error. Intervals from the expected counts would take the labels as known, and be too
    short. `Gibbs()` and `NUTS()` give draws, and all intervals are quantiles of them.

    See Also
    --------
    fit_annotations : Fit a long table of annotations.
    load : Read a fit that `AnnotationFit.save` wrote.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesnb as nb
    >>> votes = {"Ann": "yynnyynn", "Bob": "yynnyynn", "Cem": "nynynyny"}
    >>> rows = [(i, who, given) for who, labels in votes.items() for i, given in enumerate(labels)]
    >>> table = pd.DataFrame(rows, columns=["photo", "person", "cat"])
    >>> crowd = nb.fit_annotations(table, item="photo", annotator="person", label="cat")
    >>> crowd.items.head(3).round(3)
          label  probability  lower  upper  entropy  num_annotations
    photo
    0         y        0.990    NaN    NaN    0.058                3
    1         y        0.998    NaN    NaN    0.013                3
    2         n        0.998    NaN    NaN    0.013                3
    """

    annotations: AnnotationTable = field(repr=False)
    posterior: "nb.results.Posterior"
    item: Any
    annotator: Any

    @property
    def classes(self) -> np.ndarray:
        """The classes, in the order of all results."""
        return self.annotations.classes

    @property
    def annotators_in_order(self) -> list[Any]:
        """The annotators, in the order of their first annotation."""
        return self.annotations.annotators

    @cached_property
    def proba(self) -> pd.DataFrame:
        r"""Probability of each class of each item, given all annotations, a frame by item with a column for each class.

        Under draws it is the mean of :math:`p(y_i = c \mid x_i, \pi, \theta)` over the posterior of the parameters. It
        is one or zero if the label of the item is known.
        """
        return pd.DataFrame(self._labels[0], index=self._items, columns=self._class_index)

    @cached_property
    def items(self) -> pd.DataFrame:
        """The items, a frame by item.

        ``label``, the most probable class; its ``probability``, with ``lower`` and ``upper``, the interval of
        probability .89 as in `proba_interval`; ``entropy`` of the classes' probabilities, in nats; and
        ``num_annotations``. Items have the order of their first annotation.
        """
        proba, interval = self._labels
        best = proba.argmax(axis=1)
        return pd.DataFrame(
            {
                "label": self.classes[best],
                "probability": proba[np.arange(len(best)), best],
                "lower": interval[:, 0],
                "upper": interval[:, 1],
                "entropy": entr(proba).sum(axis=1),
                "num_annotations": self.annotations.counts.sum(axis=1).astype(np.int64),
            },
            index=self._items,
        )

    def proba_interval(self, *, prob: float = 0.89) -> np.ndarray:
        r"""Equal-tailed interval of the class probabilities of each item.

        They are quantiles of :math:`p(y_i = c \mid x_i, \pi, \theta)` over draws of the parameters, as in
        `Posterior.proba_interval`.

        Parameters
        ----------
        prob : float, default 0.89
            Posterior probability of the interval.

        Returns
        -------
        array, shape (items, classes, 2)
            Lower and upper end, in the order of `proba`.

        Raises
        ------
        ValueError
            If the fit is a point estimate, or `prob` is not between 0 and 1.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesnb as nb
        >>> rows = [(i, who, "yn"[i % 2]) for i in range(20) for who in ["Ann", "Bob", "Cem"]]
        >>> table = pd.DataFrame(rows, columns=["item", "annotator", "label"])
        >>> gibbs = nb.Gibbs(num_samples=200, num_chains=2)
        >>> crowd = nb.fit_annotations(
        ...     table, item="item", annotator="annotator", label="label", inference=gibbs
        ... )
        >>> lower, upper = crowd.proba_interval(prob=0.5)[0, 1]
        >>> bool(0.9 < lower < upper)
        True
        """
        return self._label_draws.quantiles(self._levels(prob))

    @cached_property
    def annotators(self) -> pd.DataFrame:
        r"""The annotators, a frame by annotator.

        ``accuracy``
            The mean of :math:`\sum_c \pi_c \theta_{cjc}`, the probability that the annotator gives a new item the label
            of its class.
        ``lower``, ``upper``
            Its interval of probability .89; see `accuracy_interval`.
        ``information``
            The mutual information of the class of a new item and the annotator's label, in nats, as in `next_item`,
            with :math:`p_{cl} = \mathrm{E} \, \pi_c \theta_{cjl}`. It is at most the entropy of the classes. It is 0
            for an annotator whose labels do not depend on the class, such as one who always gives the same label and
            may have a high accuracy.
        ``bias``
            Half the sum of the absolute values of the annotator's row in `label_bias`: the total variation distance
            between the labels that the annotator gives and the classes of the items. An annotator without bias has 0;
            one who gives every item the label of a class of probability .3 has .7. An annotator without bias may still
            be wrong often, if the errors balance.
        ``num_annotations``
            Number of annotations.
        """
        counts, labels = self.annotations.counts, self._label_index
        number = np.bincount(counts.indices // len(labels), counts.data, minlength=len(self._annotators))
        joint = np.einsum("sc,scjl->cjl", self._draws.class_prob, self._prob) / len(self._prob)
        independent = joint.sum(axis=2, keepdims=True) * joint.sum(axis=0)
        missing = np.full((2, len(self._annotators)), np.nan)
        lower, upper = missing if self._is_point else self.accuracy_interval().to_numpy().T
        return pd.DataFrame(
            {
                "accuracy": self._accuracy.mean(axis=0),
                "lower": lower,
                "upper": upper,
                "information": np.maximum(rel_entr(joint, independent).sum(axis=(0, 2)), 0.0),
                "bias": self.label_bias.abs().sum(axis=1).to_numpy() / 2,
                "num_annotations": number.astype(np.int64),
            },
            index=self._annotators,
        )

    def accuracy_interval(self, *, prob: float = 0.89) -> pd.DataFrame:
        """Equal-tailed interval of the accuracy of each annotator, a frame by annotator with ``lower`` and ``upper``.

        Parameters
        ----------
        prob : float, default 0.89
            Posterior probability of the interval.

        Raises
        ------
        ValueError
            If the fit is a point estimate, or `prob` is not between 0 and 1.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesnb as nb
        >>> rows = [(i, who, "yn"[i % 2]) for i in range(20) for who in ["Ann", "Bob", "Cem"]]
        >>> table = pd.DataFrame(rows, columns=["item", "annotator", "label"])
        >>> gibbs = nb.Gibbs(num_samples=200, num_chains=2)
        >>> crowd = nb.fit_annotations(
        ...     table, item="item", annotator="annotator", label="label", inference=gibbs
        ... )
        >>> interval = crowd.accuracy_interval(prob=0.5)
        >>> bool((interval["lower"] < crowd.annotators["accuracy"]).all())
        True
        """
        found = np.quantile(self._accuracy, self._levels(prob), axis=0)
        return pd.DataFrame(found.T, index=self._annotators, columns=["lower", "upper"])

    @cached_property
    def label_bias(self) -> pd.DataFrame:
        r"""How much more often an annotator gives each label than items have it, a frame by annotator and label.

        It is the mean of :math:`\sum_c \pi_c \theta_{cjl} - \pi_l`, where :math:`\pi_l` is zero if the label l is no
        class. The rows sum to zero. With two labels it is the bias index of Byrt, Bishop and Carlin (1993, *Journal of
        Clinical Epidemiology* 46, 423-429) between the annotator and the truth.
        """
        given = np.einsum("sc,scjl->jl", self._draws.class_prob, self._prob) / len(self._prob)
        given[:, self.annotations.own_label] -= self._draws.class_prob.mean(axis=0)
        return pd.DataFrame(given, index=self._annotators, columns=self._label_index)

    @cached_property
    def confusion(self) -> "xr.DataArray":
        """Mean probability of each label an annotator gives to items of each class, axes annotator, class and label."""
        return self._by_annotator(self._prob.mean(axis=0)).rename("confusion")

    def confusion_interval(self, *, prob: float = 0.89) -> "xr.Dataset":
        """Equal-tailed interval of each probability of `confusion`, ``lower`` and ``upper`` with its axes.

        Parameters
        ----------
        prob : float, default 0.89
            Posterior probability of the interval.

        Raises
        ------
        ValueError
            If the fit is a point estimate, or `prob` is not between 0 and 1.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesnb as nb
        >>> rows = [(i, who, "yn"[i % 2]) for i in range(20) for who in ["Ann", "Bob", "Cem"]]
        >>> table = pd.DataFrame(rows, columns=["item", "annotator", "label"])
        >>> gibbs = nb.Gibbs(num_samples=200, num_chains=2)
        >>> crowd = nb.fit_annotations(
        ...     table, item="item", annotator="annotator", label="label", inference=gibbs
        ... )
        >>> interval = crowd.confusion_interval(prob=0.5)
        >>> bool((interval["lower"] < interval["upper"]).all())
        True
        >>> bool(interval["lower"].sel({"annotator": "Ann", "class": "y", "label": "y"}) > 0.8)
        True
        """
        lower, upper = np.quantile(self._prob, self._levels(prob), axis=0)
        return xr.Dataset({"lower": self._by_annotator(lower), "upper": self._by_annotator(upper)})

    @cached_property
    def new_annotator(self) -> pd.DataFrame:
        r"""Mean probability of each label that an annotator who is not in the table gives, a frame by class.

        It is the mean of :math:`\alpha_{cl} / \sum_k \alpha_{ck}` over the draws of the concentrations that the
        annotators share.

        Raises
        ------
        ValueError
            If the concentrations are given, so that the annotators of the table say nothing about another.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesnb as nb
        >>> rows = [(i, who, "yn"[(i + (i == who)) % 2]) for i in range(12) for who in range(8)]
        >>> table = pd.DataFrame(rows, columns=["photo", "person", "cat"])
        >>> columns = {"item": "photo", "annotator": "person", "label": "cat"}
        >>> crowd = nb.fit_annotations(table, **columns, hierarchical=True)
        >>> crowd.new_annotator.round(1)
        label    n    y
        class
        n      0.9  0.1
        y      0.1  0.9
        """
        learned = self._draws.hyperparameters.get("annotation_concentration")
        if learned is None:
            raise ValueError(
                "the concentrations are given, so that the annotators of the table say nothing about another: fit with "
                "hierarchical=True"
            )
        shape = len(learned), len(self.classes), len(self.annotations.labels)
        concentration = np.broadcast_to(learned.reshape(len(learned), *(learned.shape[1:] or (1, 1))), shape)
        prob = (concentration / concentration.sum(axis=-1, keepdims=True)).mean(axis=0)
        return pd.DataFrame(prob, index=self._class_index, columns=self._label_index)

    @property
    def class_probs(self) -> pd.Series:
        """Mean probability of each class, by class."""
        return pd.Series(self._draws.class_prob.mean(axis=0), index=self._class_index, name="probability")

    @cached_property
    def log_evidence_bound(self) -> float:
        r"""A lower bound of the log density of the annotations and known labels, all parameters integrated out.

        .. math:: \mathrm{E}_q \log p(x, y, \pi, \theta) - \mathrm{E}_q \log q(y, \pi, \theta) \le \log p(x)

        Here q(y) is the product of the probabilities in `proba`, and :math:`q(\pi, \theta)` the product of the
        Dirichlet distributions of the prior and the expected counts (Attias 2000, *Advances in Neural Information
        Processing Systems* 12, 209-215). The bound is close to the log evidence if most labels are nearly certain.
        Bounds compare priors and numbers of classes for the same annotations.

        Raises
        ------
        ValueError
            If hyperparameters are learned, so that there is no closed form.
        """
        problem = self.posterior.problem
        if problem.model.description.hyperpriors:
            raise ValueError(
                "log_evidence_bound needs a given concentration, and here it is learned (hierarchical=True, or a "
                "distribution): fit with numbers as concentration and without hierarchical=True"
            )
        # Given the labels' probabilities, the best distribution of the parameters is the posterior given the expected
        # counts. The bound is then the log evidence of these counts, plus the entropy of the labels.
        proba = self.proba.to_numpy()
        every = nb.results.Unlabelled((self.annotations.counts,), np.ones(len(proba)))
        expected = nb.results.Problem(problem.resolved, every.count(problem.resolved, proba))
        return float(expected.log_evidence + entr(proba).sum())

    def next_item(
        self,
        num_items: int | None = 20,
        *,
        num_annotators: int | None = 1,
        items: Any = None,
        annotators: Any = None,
        again: bool = False,
    ) -> pd.DataFrame:
        r"""Items whose class one more annotation is expected to tell most about, and by whom.

        The expected information is the mutual information of the class of item i and the label that annotator j would
        give it, in nats (Lindley 1956, *Annals of Mathematical Statistics* 27, 986-1005):

        .. math::
            \sum_{c, l} p_{cl} \log \frac{p_{cl}}{p_{c \cdot} \, p_{\cdot l}}, \qquad
            p_{cl} = \mathrm{E} \, p(y_i = c \mid x_i, \pi, \theta) \, \theta_{cjl}

        with the mean over draws of the parameters, or the value at a point estimate. It is zero for an item whose class
        is known.

        Parameters
        ----------
        num_items : int or None, default 20
            Number of items: those with the highest information. None for all of them.
        num_annotators : int or None, default 1
            Number of annotators of each item: those with the highest information. None for all of them.
        items, annotators : sequence or name, optional
            Items and annotators to choose from; by default all. A mapping gives each annotator the number of items that
            they can take: without it the best annotator may get every item.
        again : bool, default False
            Whether an annotator may label an item again. The model takes a second label as independent of the first,
            and people tend to repeat themselves.

        Returns
        -------
        pandas.DataFrame
            A row for each pair, the most informative first. The columns have the names of the columns of items and
            annotators in the table, and ``"information"``. It is empty if each of these annotators has labelled each of
            these items.

        Raises
        ------
        ValueError
            If an item or annotator is not in the table, or a number is not a whole number, one or more.

        Warns
        -----
        UserWarning
            If no pair is left.

        Notes
        -----
        Where annotators have room for some items only, the pairs are taken in the order of their information, each if
        its annotator has room. This is a greedy choice, and another may have a higher sum.

        Examples
        --------
        The two annotators disagree on the last item.

        >>> import pandas as pd
        >>> import bayesnb as nb
        >>> rows = [(i, who, "yn"[i % 2]) for i in range(6) for who in ["Ann", "Bob"]]
        >>> rows += [(6, "Ann", "y"), (6, "Bob", "n"), (0, "Cem", "y"), (1, "Cem", "n")]
        >>> table = pd.DataFrame(rows, columns=["item", "annotator", "label"])
        >>> crowd = nb.fit_annotations(table, item="item", annotator="annotator", label="label")
        >>> crowd.next_item(2).round(3)
           item annotator  information
        0     6       Cem        0.388
        1     2       Cem        0.019

        Cem has time for one item.

        >>> crowd.next_item(2, annotators={"Ann": 2, "Cem": 1}, again=True)["annotator"].tolist()
        ['Cem', 'Ann']
        """
        number, each = (
            None if value is None else whole_number(name, value)
            for name, value in (("num_items", num_items), ("num_annotators", num_annotators))
        )
        named = list(annotators) if isinstance(annotators, Mapping) else annotators
        chosen = positions_of("annotators", named, self._annotators)
        found = most_informative(
            self._label_draws,
            entr(self._labels[0]).sum(axis=1),
            np.sort(positions_of("items", items, self._items)),
            np.sort(chosen),
            num_items=None if isinstance(annotators, Mapping) else number,
            num_annotators=None if isinstance(annotators, Mapping) else each,
            again=again,
        )
        if isinstance(annotators, Mapping):
            room = [whole_number(f"annotators[{name!r}]", value) for name, value in annotators.items()]
            found = _while_there_is_room(found, dict(zip(chosen.tolist(), room, strict=True)), number, each)
        found_items, found_annotators, information = found
        if not len(found_items):
            warn(
                "next_item: each of these annotators has labelled each of these items, so that no pair is left: "
                "again=True takes pairs again",
                UserWarning,
            )
        columns = [
            pd.Series(self._items[found_items], name=self.item),
            pd.Series(self._annotators[found_annotators], name=self.annotator),
            pd.Series(information, name="information"),
        ]
        return pd.concat(columns, axis=1)

    def score(self, truth: Any) -> pd.DataFrame:
        """Compare the labels with known ones, over the items that have a known class and were not `known` in the fit.

        Parameters
        ----------
        truth : mapping from item to label, pandas.Series or table
            Known classes, as `known` in `fit_annotations`. Items that are not in the table of annotations are left out.

        Returns
        -------
        pandas.DataFrame
            A row per score, named as in `Calibration`: ``accuracy``, the share of items whose most probable class is
            right; ``confidence``, the mean probability of this class; ``log_score``, the mean log probability of the
            known class. The columns are ``mean``, its standard error ``se``, and ``num_items``.

        Raises
        ------
        TypeError, ValueError
            If `truth` cannot be read, names a class or items that the fit does not have, or no item is left.

        Notes
        -----
        If the probabilities are calibrated, accuracy and confidence differ only by chance. A calibration curve needs
        some hundred known labels for each bin: the observed share of a bin of 100 items has a standard error of up to
        .05.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesnb as nb
        >>> rows = [(i, who, "yn"[i % 2]) for i in range(6) for who in ["Ann", "Bob"]]
        >>> table = pd.DataFrame(rows, columns=["item", "annotator", "label"])
        >>> crowd = nb.fit_annotations(table, item="item", annotator="annotator", label="label")
        >>> crowd.score({0: "y", 1: "n", 2: "n"}).round(3)
                     mean     se  num_items
        score
        accuracy    0.667  0.333          3
        confidence  0.995  0.000          3
        log_score  -1.742  1.736          3
        """
        named, codes = read_labels_of_items(truth, "truth", self.classes, self.item)
        at = self._items.astype(object).get_indexer(named)
        new = (at >= 0) & (self.annotations.known[at] < 0)
        if not new.any():
            raise ValueError(
                f"truth has none of the items of column {self.item!r} whose label was not known in the fit: give "
                f"labels of items such as {self._items[0]!r} that known= does not hold"
            )
        proba, codes = self._labels[0][at[new]], codes[new]
        with np.errstate(divide="ignore", invalid="ignore"):  # a class of probability zero
            scores = pd.DataFrame(
                {
                    "accuracy": proba.argmax(axis=1) == codes,
                    "confidence": proba.max(axis=1),
                    "log_score": np.log(proba[np.arange(len(codes)), codes]),
                }
            ).astype(np.float64)
            table = pd.DataFrame({"mean": scores.mean(), "se": scores.sem(), "num_items": len(codes)})
        return table.rename_axis("score")

    def save(self, path: Any) -> None:
        """Write the fit to a netCDF file, which `bayesnb.load` reads.

        The file holds the annotations, the posterior, and the names of items, annotators and labels: text, numbers,
        booleans, dates and times. It is written as `Posterior.save` does.

        Parameters
        ----------
        path : path-like
            A file of this name is replaced.

        Raises
        ------
        ImportError
            Without h5py, the extra ``bayesnb[io]``.
        OSError
            As for `Posterior.save`.
        TypeError
            If a name is of another type, or the inference is a class of your own.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import pandas as pd
        >>> import bayesnb as nb
        >>> rows = [(i, who, "yn"[i % 2]) for i in range(6) for who in ["Ann", "Bob"]]
        >>> table = pd.DataFrame(rows, columns=["item", "annotator", "label"])
        >>> crowd = nb.fit_annotations(table, item="item", annotator="annotator", label="label")
        >>> with TemporaryDirectory() as folder:
        ...     crowd.save(Path(folder, "crowd.nc"))
        ...     again = nb.load(Path(folder, "crowd.nc"))
        >>> again.items.equals(crowd.items)
        True
        """
        save(path, self)

    @property
    def _is_point(self) -> bool:
        return is_point_estimate(self.posterior)

    @cached_property
    def _draws(self) -> Any:
        """Draws of the parameters, one leading axis; a point estimate is a single draw."""
        belief = self.posterior.belief
        if self._is_point:
            return belief.draws_to_average()
        return map_tree(lambda value: np.reshape(value, (-1, *np.shape(value)[2:])), belief.draw(None, None, 0))

    @property
    def _prob(self) -> np.ndarray:
        """Probabilities of labels, shape (draws, classes, annotators, labels)."""
        return self._draws.blocks[0]["prob"]

    @cached_property
    def _accuracy(self) -> np.ndarray:
        """Probability that an annotator gives an item the label of its class, shape (draws, annotators)."""
        right = self._prob[:, np.arange(len(self.classes)), :, self.annotations.own_label]
        return np.asarray(np.einsum("sc,csj->sj", self._draws.class_prob, right))

    @cached_property
    def _label_draws(self) -> LabelDraws:
        return LabelDraws.of(self.annotations, self._draws)

    @cached_property
    def _labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of the classes, and the interval of the most probable one, shape (items, 2)."""
        if self._is_point:
            proba = self._label_draws.mean()
            return proba, np.full((len(proba), 2), np.nan)
        return self._label_draws.most_probable(self._levels(PROB))

    def _levels(self, prob: float) -> list[float]:
        """The quantiles of an interval; an error for a point estimate."""
        proportion("prob", prob)
        if self._is_point:
            name = type(self.posterior.inference).__name__
            raise ValueError(
                f"{name} gives a point estimate, which has no intervals: fit with inference=nb.Gibbs(), or nb.NUTS() "
                "for small tables"
            )
        return [(1 - prob) / 2, (1 + prob) / 2]

    @cached_property
    def _items(self) -> pd.Index:
        return pd.Index(self.annotations.items, name=self.item, tupleize_cols=False)

    @cached_property
    def _annotators(self) -> pd.Index:
        return pd.Index(self.annotators_in_order, name=self.annotator, tupleize_cols=False)

    @cached_property
    def _class_index(self) -> pd.Index:
        return pd.Index(self.classes.tolist(), name="class", dtype=object, tupleize_cols=False)

    @cached_property
    def _label_index(self) -> pd.Index:
        return pd.Index(self.annotations.labels, name="label", dtype=object, tupleize_cols=False)

    def _by_annotator(self, prob: np.ndarray) -> "xr.DataArray":
        """Probabilities of shape (classes, annotators, labels), labelled, with the annotators first."""
        coords = {
            "annotator": coordinate(self.annotators_in_order),
            "class": coordinate(self.classes.tolist()),
            "label": coordinate(self.annotations.labels),
        }
        return xr.DataArray(np.moveaxis(prob, 0, 1), coords, dims=tuple(coords))

    def _parts(self) -> list[Piece]:
        annotations = self.annotations
        known, bare = int((annotations.known >= 0).sum()), int((annotations.counts.sum(axis=1) == 0).sum())
        gold = f" ({known:,} known{f', {bare:,} of them without annotation' * (bare > 0)})" * (known > 0)
        title = (
            f"{type(self).__name__} by {type(self.posterior.inference).__name__}: "
            f"{counted(int(annotations.counts.sum()), 'annotation')} of "
            f"{counted(len(annotations.items), 'item')}{gold} by {counted(len(self.annotators_in_order), 'annotator')}"
        )
        worst_first = self.annotators.sort_values("accuracy", kind="stable").dropna(axis=1, how="all")
        return [
            Heading(title),
            Paragraph(f"Classes: {listed(self.classes.tolist())}"),
            DataTable(worst_first, number=".3f", rest="more in .annotators"),
        ]


def _while_there_is_room(
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray],
    room: dict[int, int],
    num_items: int | None,
    num_annotators: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first pairs, by information, whose annotator may label more items."""
    taken: Counter[int] = Counter()
    kept = []
    for place, (item, annotator) in enumerate(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True)):
        is_new = item not in taken
        if room[annotator] == 0 or (is_new and len(taken) == num_items) or taken.get(item, 0) == num_annotators:
            continue
        room[annotator] -= 1
        taken[item] += 1
        kept.append(place)
    items, annotators, information = (part[kept] for part in pairs)
    return items, annotators, information
