"""The site builds without a warning, and a browser finds nothing wrong with any page."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import bayesnb as nb

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "docs" / "check_site.py"
NEEDED = (
    "myst_nb",
    "numpydoc",
    "playwright",
    "pydata_sphinx_theme",
    "sphinx_codeautolink",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",
)


def run(*command) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def extra() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs pip install 'bayesnb[docs]': {', '.join(missing)} not found")


@pytest.fixture(scope="module")
def site(extra, tmp_path_factory) -> Path:
    """The site, built from a copy, because Sphinx writes the pages of the reference beside their index."""
    copy = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", copy / "docs", symlinks=True, ignore=shutil.ignore_patterns("_build", "generated"))
    shutil.copytree(ROOT / "notebooks", copy / "notebooks")
    shutil.copy(ROOT / "README.md", copy)
    built = run("-m", "sphinx", "-W", "--keep-going", "-q", "-d", copy / "doctrees", copy / "docs", copy / "html")
    assert built.returncode == 0, built.stderr
    return copy / "html"


@pytest.fixture(scope="module")
def chromium() -> None:
    named = os.environ.get("CHROMIUM")
    if not named and not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        pytest.skip("needs a Chromium: apt-get install chromium")


@pytest.mark.usefixtures("chromium")
def test_no_page_has_anything_wrong(site):
    checked = run(CHECK, site)
    assert checked.returncode == 0, checked.stdout + checked.stderr


FAULTS = {
    "link to no page": '<a href="nowhere.html">a link</a>',
    "link to no anchor": '<a href="index.html#nowhere">a link</a>',
    "link to no anchor: #here-neither": '<a href="#here-neither">a link</a>',
    "image does not show": '<img src="nothing.png" alt="">',
    "404 for nothing.css": '<link rel="stylesheet" href="nothing.css">',
    "error in a script": "<script>nobody.knows()</script>",
    "error on the console": "<script>console.error('wrong')</script>",
    "request to another machine": '<script src="https://example.invalid/script.js"></script>',
    "TeX left as text: \\(": "<p class='left'>\\(x\\)</p>",
    "TeX left as text: $": r"<p>$\theta$</p>",
    "formula is not set": "<span class='math left'>\\(x\\)</span>",
    "error in a formula: Missing argument for \\frac": "<span class='math'>\\(\\frac{1}\\)</span>",
    "error in a formula: \\nobody": "<span class='math'>\\(\\nobody\\)</span>",
    "code wider than its block: 300 characters": f"<pre>{'x' * 300}</pre>",
    "formula wider than the page": r"<div class='math'>\[" + " + ".join(["x"] * 120) + r"\]</div>",
    "wider than a phone": "<div style='width: 500px'>wide</div>",
}


PAGE = r"""<!doctype html>
<html><head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<script>window.MathJax = {{options: {{ignoreHtmlClass: "left"}}}}</script>
<style>mjx-container[display="true"], pre {{overflow: auto}}</style>
<script defer src="_static/mathjax/tex-chtml.js"></script>
</head><body><main>
<p id="here"><a href="#here">here</a> <a href="index.html">there</a> <span class="math">\(\theta_c\)</span></p>
<p>Costs $5 or \$6; <code>\(x\)</code></p>
{fault}
</main></body></html>
"""


@pytest.mark.usefixtures("chromium", "extra")
def test_each_fault_is_found(tmp_path):
    mathjax = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
    shutil.copytree(mathjax, tmp_path / "_static" / "mathjax", ignore=shutil.ignore_patterns("sre"))
    (tmp_path / "index.html").write_text(PAGE.format(fault=""))
    for number, fault in enumerate(FAULTS.values()):
        (tmp_path / f"{number}.html").write_text(PAGE.format(fault=fault))
    checked = run(CHECK, tmp_path)
    assert checked.returncode == 1, checked.stderr
    assert "index.html: " not in checked.stdout
    for number, wrong in enumerate(FAULTS):
        lines = [line for line in checked.stdout.splitlines() if line.startswith(f"{number}.html: ")]
        assert any(wrong in line for line in lines), (wrong, lines)


@pytest.mark.usefixtures("chromium")
def test_a_search_that_misses_the_right_page_is_found(site, check_site):
    report = check_site.Report()
    with check_site.serve(site) as root, check_site.open_browser() as browser:
        right = {"federalist": "notebooks/05-federalist", "xyzzy": "about"}
        check_site.check_search(browser.new_page(), root, report, right)
    assert report == ["search.html: a search for 'xyzzy' gives nothing, not about"]


@pytest.fixture
def documentation(extra, monkeypatch):
    """Imports modules of docs/, which Sphinx finds in its own folder."""
    monkeypatch.syspath_prepend(str(CHECK.parent))
    return importlib.import_module


@pytest.fixture
def check_site(documentation):
    return documentation("check_site")


NAMED = {
    "nb.loo": "bayesnb.loo",
    "nb.NUTS(num_samples=2000)": "bayesnb.NUTS",
    "NUTS()": "bayesnb.NUTS",
    "GaussianNB": "bayesnb.estimators.GaussianNB",
    "nb.NaiveBayes.from_frame(X, y)": "bayesnb.NaiveBayes.from_frame",
    "Posterior.update": "bayesnb.results.Posterior.update",
    "exact.predict_proba(X)": "bayesnb.results.Posterior.predict_proba",
    "exact.plugin().predict_proba(X)": "bayesnb.results.ExactPosterior.plugin",
    "update": "bayesnb.results.Posterior.update",
    "predict_proba": "bayesnb.results.Posterior.predict_proba",
    "loo_scores": "bayesnb.loo_scores",
    "az.loo(tree)": "arviz.loo",
}
NOT_NAMED = ("loo", "loo(tree)", "mean", "class_probs", "concentration", "nb.nothing", "posterior.nothing", "a + b", "")


def test_code_that_names_something_public_becomes_a_link(documentation):
    links = documentation("links")
    assert {code: links.resolve(code) for code in NAMED} == NAMED
    assert [code for code in NOT_NAMED if links.resolve(code)] == []
    assert links.resolve("partial_fit") is None
    of_class = "bayesnb.NaiveBayesClassifier."
    assert links.resolve("partial_fit", "guide/scikit-learn") == f"{of_class}partial_fit"
    assert links.resolve("predict_proba", "guide/scikit-learn") == f"{of_class}predict_proba"


def test_links_to_the_source_name_its_lines(documentation):
    reference = documentation("reference")
    address = reference.source_of("py", {"module": "bayesnb.results", "fullname": "Posterior.update"})
    file, lines = re.fullmatch(rf"{re.escape(reference.SOURCE)}(.+)#L(\d+)-L\d+", address).groups()
    assert "def update(" in (ROOT / file).read_text("utf-8").splitlines()[int(lines) - 1]
    assert reference.source_of("py", {"module": "bayesnb", "fullname": "loo"}).startswith(
        f"{reference.SOURCE}bayesnb/posterior/loo.py#"
    )


def test_a_family_that_comes_with_the_package_lists_no_hooks(documentation):
    reference = documentation("reference")
    here, elsewhere = reference.members_by_class()["bayesnb.Gaussian"]
    assert here == []
    assert {member.rpartition(".")[2] for member in elsewhere} == reference.FOR_USERS_OF_FAMILIES
    assert "bayesnb.families.Family.prior" in reference.members_by_class()["bayesnb.families.Family"][0]


def test_a_name_without_a_page_or_an_example_is_a_warning(documentation, monkeypatch):
    reference = documentation("reference")
    described = SimpleNamespace(objects=dict.fromkeys(reference.public_names()))
    env = SimpleNamespace(domains=SimpleNamespace(python_domain=described))
    warned = []
    logger = SimpleNamespace(warning=lambda text, *values: warned.append(text % values))
    monkeypatch.setattr(reference.logging, "getLogger", lambda name: logger)
    reference.warn_of_missing_names(None, env)
    assert warned == []
    del described.objects["bayesnb.loo"]
    monkeypatch.setattr(nb.plot_spikes, "__doc__", "No example.")
    monkeypatch.setattr(
        nb.families.Family, "unheard_of", property(nb.families.Family.story.__get__, doc="A hook."), raising=False
    )
    reference.warn_of_missing_names(None, env)
    assert warned == [
        "public name bayesnb.loo is missing from docs/api/",
        "method Family.unheard_of is missing from docs/api/extend.rst",
        "the docstring of bayesnb.plot_spikes has no section See Also",
        "the docstring of bayesnb.plot_spikes has no section Examples",
    ]


def test_pictures_are_those_of_the_examples(site, documentation):
    pictures = documentation("pictures")
    gallery = (site / "gallery.html").read_text("utf-8")
    for name in pictures.DRAWN:
        shown, described = f"_images/{pictures.file_of(name)}", pictures.page_of(name)
        page = (site / "api" / "generated" / f"{described}.html").read_text("utf-8")
        assert f'src="../../{shown}"' in page, name
        assert f'src="_images/{pictures.card_of(name)}"' in gallery, name
        assert f'href="api/generated/{described}.html"' in gallery, name


def test_examples_and_text_link_to_the_reference(site):
    page = (site / "guide" / "checking.html").read_text("utf-8")
    assert re.search(r'href="\.\./api/generated/bayesnb\.loo\.html[^>]*><code', page)
    assert re.search(r'class="sphinx-codeautolink-a" href="\.\./api/generated/bayesnb\.fit\.html', page)
