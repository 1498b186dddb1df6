"""The flat form of a posterior: densities of another library, and its bytes."""

from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from scipy import special, stats

from bayesnb.core.plain_formulas import rising_in_numpy
from bayesnb.serve.scorer import MARKER, MultivariateT, Reading, RisingFactorials, Scorer, StudentT, Tables

RNG = np.random.default_rng(5)
ROWS = np.array([[0.0, 1.0, np.nan, 17.0, 2.0, np.nan], [0.4, 3.0, 2.0, np.nan, 80.0, np.nan]])
A, B = RNG.uniform(0.5, 40, (2, 3, 1))
LOC, CENTRE, AT_ZERO = RNG.normal(size=(3, 1)), RNG.normal(size=(3, 2)), np.log(RNG.uniform(0.1, 0.9, (3, 1)))
MATRIX = np.array([[[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.5], [-0.5, 3.0]], [[5.0, 2.0], [2.0, 1.0]]])
DF = np.array([3.0, 40.0, 2.5])
ONE, NONE = np.ones(1, int), np.zeros(1, int)


def student(is_log: np.ndarray, has_zero: np.ndarray) -> StudentT:
    """Of 2 A degrees of freedom."""
    constant = special.gammaln(A + 0.5) - special.gammaln(A) + 0.5 * np.log(B / np.pi)
    return StudentT(NONE, is_log, NONE, has_zero, LOC, B, -(A + 0.5), constant, AT_ZERO)


def expected_student(x: np.ndarray) -> np.ndarray:
    return stats.t(2 * A[:, 0], LOC[:, 0], (2 * A[:, 0] * B[:, 0]) ** -0.5).logpdf(x)


def expected_vector(x: np.ndarray) -> np.ndarray:
    def of_class(row: np.ndarray, c: int) -> float:
        there = np.flatnonzero(~np.isnan(row))
        shape = MATRIX[c][np.ix_(there, there)] / DF[c]
        return stats.multivariate_t(CENTRE[c, there], shape, DF[c]).logpdf(row[there]) if len(there) else 0.0

    return np.array([[of_class(row, c) for c in range(3)] for row in x])


LOMAX = StudentT(NONE, NONE, ONE, NONE, 0 * LOC, B, -(A + 1), np.log(A) - np.log(B), AT_ZERO)
POISSON = RisingFactorials(NONE, np.array([np.nan]), A, np.log1p(B), -A * np.log1p(1 / B))
BEYOND = A.max() + 20 * B  # no log-gamma function
BETA = RisingFactorials(NONE, np.array([2.5]), BEYOND, A + BEYOND, rising_in_numpy(A, np.array(2.5)))
KINDS = {
    "Lomax": ({"densities": (LOMAX,)}, lambda x: stats.lomax(A[:, 0], scale=B[:, 0]).logpdf(x[:, :1])),
    "Student-t": ({"densities": (student(NONE, NONE),)}, lambda x: expected_student(x[:, :1])),
    "logarithm beside zero": (
        {"densities": (student(ONE, ONE),)},
        lambda x: np.where(x[:, :1] == 0, AT_ZERO[:, 0], expected_student(np.log(np.maximum(x[:, :1], 1e-9)))),
    ),
    "gamma of counts": (
        {"densities": (POISSON,)},
        lambda x: stats.nbinom(A[:, 0], B[:, 0] / (1 + B[:, 0])).logpmf(np.nan_to_num(x[:, :1])),
    ),
    "beta of counts": (
        {"densities": (BETA,)},
        lambda x: (
            special.betaln(A[:, 0] + 2.5, BEYOND[:, 0] + np.nan_to_num(x[:, :1])) - special.betaln(A, BEYOND)[:, 0]
        ),
    ),
    "vector": ({"densities": (MultivariateT(np.arange(2), CENTRE, MATRIX, DF),)}, expected_vector),
}


def scorer_of(**parts: object) -> Scorer:
    given = {"classes": ("a", "b", 3), "columns": ("x", ("y", True)), "subjects": ("x",), "subject": NONE}
    given |= {"number_readings": (Reading(0, lowest=0.0, family="Poisson"), Reading(1, "date", (("part", "day"),)))}
    given |= {"tables": Tables(np.empty((3, 0)), NONE[:0], NONE[:0, None], NONE[:0, None]), "weight": np.ones(1)}
    given |= {"code_readings": (), "bins": (), "densities": (), "log_class_prob": np.log([0.2, 0.5, 0.3])}
    return Scorer(**given | parts)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_the_density_of_another_library(kind):
    parts, density = KINDS[kind]
    found = scorer_of(**parts).contributions(np.empty((0, 6), int), ROWS)[:, 0].T
    expected = density(ROWS.T)
    # Terms that all classes share are left out.
    observed = ~np.isnan(ROWS[0]) if kind != "vector" else ~np.isnan(ROWS).all(axis=0)
    expected = np.where(observed[:, None], expected - expected[:, :1], 0.0)
    np.testing.assert_allclose(found - found[:, :1], expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(found[~observed], 0.0)


def whole() -> Scorer:
    """Tables of one and of two codes, numbers in bins, and a number; weights and shares."""
    entries = np.random.default_rng(1).normal(size=(3, 12 + 4))
    parts = {
        "code_readings": (Reading(0, categories=("p", 1)), Reading(1, categories=(True, 2.5, ("q", 3)), others=True)),
        "bins": ((1, np.array([0.4, 3.0])),),
        "tables": Tables(entries, np.array([0, 12]), np.array([[0, 1], [2, 0]]), np.array([[4, 1], [1, 0]])),
        "densities": (LOMAX,),
        "weight": np.array([0.5]),
        "subject": np.array([0, 1, 1]),
        "subjects": ("x", "y"),
        "offset": np.array([0.1, -0.2, 0.0]),
        "log_given": np.log([0.6, 0.3, 0.1]),
        "share": 0.01,
        "share_of_feature": 0.02,
        "forms": ((0, ",", "%", ("none",)),),
    }
    return scorer_of(**parts)


CODES = np.array([[0, 1, 2, 1, 0, 2], [3, 0, 1, 2, 2, 3]])


def test_a_sum_of_features_by_hand(monkeypatch):
    scorer = whole()
    prior, own = np.array([0.2, 0.5, 0.3]), np.exp(scorer.offset) * [0.2, 0.5, 0.3]
    own /= own.sum()
    lomax = np.exp(stats.lomax(A[:, 0], scale=B[:, 0]).logpdf(np.nan_to_num(ROWS[0])[:, None]))
    lomax = np.where(np.isnan(ROWS[0])[:, None], 1.0, lomax)
    of_number = (0.98 * lomax + 0.02 * (lomax @ prior)[:, None]) ** 0.5
    in_bins = np.array([1, 2, 1, 3, 2, 3])  # a bin holds its lower end; the last is missing
    of_tables = scorer.tables.entries[:, 4 * CODES[0] + CODES[1]] + scorer.tables.entries[:, 12 + in_bins]
    product = np.exp(of_tables).T * of_number
    joint = own * (0.99 * product + 0.01 * (product @ own)[:, None]) * [0.6, 0.3, 0.1] / prior
    found = scorer.proba(scorer.log_joint(CODES, ROWS))
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(np.exp(scorer.with_class_probs(prior).log_prior), prior)
    monkeypatch.setattr("bayesnb.serve.scorer.PIECE", 9)
    np.testing.assert_array_equal(scorer.proba(scorer.log_joint(CODES, ROWS)), found)


def test_a_row_without_density_has_no_probability():
    tables = Tables(np.full((3, 1), -np.inf), NONE, NONE[:, None], NONE[:, None])
    scorer = scorer_of(tables=tables, weight=np.ones(0), code_readings=(Reading(0, categories=("p",)),))
    assert scorer.proba(scorer.log_joint(np.zeros((1, 1), int), np.zeros((2, 1)))).tolist() == [[0.0, 0.0, 0.0]]


def assert_equal(one: object, other: object) -> None:
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, tuple):
        for pair in zip(one, other, strict=True):
            assert_equal(*pair)
    elif isinstance(one, Scorer | Tables | StudentT | RisingFactorials | MultivariateT):
        for name in one.__dataclass_fields__:
            assert_equal(getattr(one, name), getattr(other, name))
    else:
        assert one == other
        assert type(one) is type(other)


@pytest.mark.parametrize("kind", ["whole", *KINDS])
def test_bytes_are_the_same_scorer(kind):
    scorer = whole() if kind == "whole" else scorer_of(**KINDS[kind][0])
    raw = scorer.to_bytes()
    assert raw.startswith(MARKER)
    assert_equal(Scorer.from_bytes(raw + b"more"), scorer)


def forged(raw: bytes, old: bytes, new: bytes) -> bytes:
    """The bytes with others in place of some, and with their own sum."""
    assert raw.count(old) >= 1
    assert len(old) == len(new)
    body = raw[len(MARKER) + 4 :].replace(old, new)
    return MARKER + crc32(body).to_bytes(4, "little") + body


RAW = whole().to_bytes()
FORGED = {
    "empty": b"",
    "another file": b"CDF" + RAW,
    "another version": RAW.replace(b"scorer 2", b"scorer 3"),
    "cut": RAW[:-1],
    "cut early": RAW[: len(MARKER) + 9],
    "flipped": RAW[:-3] + bytes([RAW[-3] ^ 1]) + RAW[-2:],
    "lengths": forged(RAW, RAW[len(MARKER) + 4 :][:8], b"\xff" * 8),
    "shape": forged(RAW, b"[3, 16]", b"[3, 99]"),
    "negative shape": forged(RAW, b"[3, 16]", b"[3, -6]"),
    "type": forged(RAW, b'"<f8"', b'"|O8"'),
    "another record": forged(RAW, b'"record": "Tables"', b'"record": "Scorer"'),
    "no record": forged(RAW, b'"record": "Tables"', b'"record": "Tablet"'),
    "column": forged(RAW, b'"column": 1', b'"column": 7'),
    "share": forged(RAW, b'"share": 0.01', b'"share": 1e99'),
    "no array": forged(RAW, b'"array"', b'"arrow"'),
    "place": replace(whole(), tables=replace(whole().tables, start=np.array([0, 13]))).to_bytes(),
    "code": replace(whole(), tables=replace(whole().tables, coding=np.array([[0, 1], [3, 0]]))).to_bytes(),
    "number": replace(whole(), densities=(replace(LOMAX, number=np.array([-1])),)).to_bytes(),
    "classes": replace(whole(), classes=("a", "b")).to_bytes(),
    "weights": replace(whole(), weight=np.ones(2)).to_bytes(),
    "bins": replace(whole(), bins=((2, np.zeros(2)),)).to_bytes(),
}


@pytest.mark.parametrize("raw", FORGED.values(), ids=FORGED)
def test_damaged_cut_and_forged_bytes_are_one_error(raw):
    with pytest.raises(ValueError, match="no scorer of this version of bayesnb, or are damaged"):
        Scorer.from_bytes(raw)


def test_bytes_hold_no_other_objects():
    with pytest.raises(TypeError, match="text, numbers, booleans and tuples"):
        replace(whole(), classes=(b"a", "b", "c")).to_bytes()
    assert Scorer.from_bytes(replace(whole(), classes=(1, True, 2.5)).to_bytes()).classes == (1, True, 2.5)


def test_rising_factorials_without_gamma_functions():
    a, x = np.array([1e-6, 0.5, 3.0, 15.9, 16.0, 1e3, 1e9]), np.array([[0.0], [0.5], [7.0], [1e3]])
    expected = special.gammaln(a + x) - special.gammaln(a)
    expected[:, -1] = x[:, 0] * np.log(1e9) + x[:, 0] * (x[:, 0] - 1) / 2e9  # the first terms of the series
    np.testing.assert_allclose(rising_in_numpy(a, x), expected, rtol=1e-12, atol=1e-13)
