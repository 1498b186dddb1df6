"""The README and the pages of the documentation: their examples run, and their links lead somewhere."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PAGES = [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)]
TEACHING = [page for page in PAGES if page.parent.name in {"guide", "howto"} and page.stem != "index"]
LONG = {
    "add-a-family",
    "add-a-family-without-a-closed-form",
    "annotators",
    "another-population",
    "bring-your-own-sampler",
    "checking",
    "decisions",
    "families",
    "inference",
    "learned-priors",
    "scikit-learn",
    "selection",
    "unlabelled",
    "use-jax-transformations",
    "weights",
    "write-a-prior-of-your-own",
    "write-an-inference",
}
"""Pages that sample or compile for more than two seconds run in the slow suite."""


def name(page):
    return str(page.relative_to(ROOT))


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(page):
    """Anchors that headings make: lower case, spaces as hyphens, punctuation dropped."""
    headings = re.findall(r"^#+ +(.+)$", without_code(page.read_text("utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if page.stem in LONG else []) for page in PAGES],
    ids=name,
)
def test_examples_run_and_show_their_true_output(page):
    # The fence that ends a block is no output of its last example.
    text = re.sub(r"^```.*$", "", page.read_text("utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, name(page), str(page), 0)
    result = doctest.DocTestRunner(optionflags=FLAGS).run(examples)
    assert result.failed == 0
    if page in TEACHING:
        assert result.attempted >= 3


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_python_block_is_an_example(page):
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE):
        assert block.startswith(">>> "), block


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text("utf-8"))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), target


@pytest.mark.parametrize("page", TEACHING, ids=name)
def test_a_page_begins_with_what_it_explains(page):
    title, first = page.read_text("utf-8").split("\n\n")[:2]
    assert title.startswith("# ")
    assert first.startswith("This page explains ")
