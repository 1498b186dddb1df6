"""The site builds without a warning, and a browser finds nothing wrong with any page."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "docs" / "check_site.py"
NEEDED = ("myst_nb", "numpydoc", "playwright", "pydata_sphinx_theme", "sphinx_copybutton", "sphinx-mathjax-offline")


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
    "wider than a phone": "<div style='width: 500px'>wide</div>",
}


PAGE = r"""<!doctype html>
<html><head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<script>window.MathJax = {{options: {{ignoreHtmlClass: "left"}}}}</script>
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
