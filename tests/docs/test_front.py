"""The README and the metadata: absolute links that lead somewhere, and one version in every file that names it."""

import re
import tomllib
from pathlib import Path

import pytest

import bayesnb as nb

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
SITE = "https://bayesnb.readthedocs.io/"
PLACES = {
    "https://raw.githubusercontent.com/bayesnb/bayesnb/main/": "",
    "https://github.com/bayesnb/bayesnb/blob/main/": "",
    f"{SITE}en/latest/": "docs/",
}
"""Addresses of the project, and the folders of the checkout that they show."""

LINKS = re.findall(r"\]\(([^)\s]+)\)", README) + re.findall(r'(?:src|srcset|href)="([^"]+)"', README)


def file_of(link):
    """The file of the checkout that an address of the project shows, or None for other addresses."""
    for place, folder in PLACES.items():
        if link.startswith(place):
            path = folder + link.removeprefix(place).partition("#")[0]
            return ROOT / re.sub(r"^(docs/.*)\.html$", r"\1.md", path)
    return None


@pytest.mark.parametrize("link", LINKS)
def test_links_of_the_readme_are_absolute_and_lead_to_files(link):
    assert link.startswith("https://"), "a package index shows the README elsewhere"
    there = file_of(link)
    assert there is None or there.is_file(), link


def test_the_readme_shows_pictures_and_pages_of_the_project():
    files = [file_of(link) for link in LINKS]
    assert sum(path is not None and path.suffix == ".svg" for path in files) == 4
    assert sum(path is not None and path.suffix == ".md" for path in files) >= 5


def test_links_of_the_metadata_lead_to_files():
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert set(urls) == {"Homepage", "Documentation", "Source", "Changelog", "Issues"}
    assert urls["Documentation"] == SITE
    assert file_of(urls["Changelog"]).is_file()


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("docs/changelog.md", r"^## (\d\S*)"),
        ("docs/about.md", r"^ *version = \{(.+)\}"),
    ],
)
def test_files_name_the_version_of_the_package(path, pattern):
    found = re.search(pattern, (ROOT / path).read_text("utf-8"), flags=re.MULTILINE)
    assert found[1] == nb.__version__
