"""Pictures of the site, each drawn once when the site is built.

The picture of a plot function, or of a method of a result that draws it, is what the example in its docstring draws.
Its page shows it, and so does the gallery. The picture of a notebook is the first one among its outputs. Cards of pages
that none of these fits have those of `sketches`.
"""

import ast
import base64
import doctest
import inspect
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import reference
import sketches
from docutils import nodes
from docutils.statemachine import StringList
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).parent / "api" / "generated"
RESOLUTION = 160
CARD = 6.4  # largest width of a picture in the gallery, in inches
FUNCTIONS = [name for name in reference.public_names() if name.startswith("bayesnb.plot_")]
METHODS = [name for here, _ in reference.members_by_class().values() for name in here]
DRAWN = FUNCTIONS + [name for name in METHODS if "figure = " in (inspect.getdoc(reference.find(name)) or "")]


def draw_all(app: Sphinx) -> None:
    """Draw the pictures of all plot functions and methods, and take those of the notebooks."""
    FOLDER.mkdir(exist_ok=True)
    gallery = (Path(__file__).parent / "gallery.rst").read_text("utf-8").split()
    for name in DRAWN:
        if name.removeprefix("bayesnb.") not in gallery:
            logging.getLogger(__name__).warning("%s is missing from docs/gallery.rst", name)
        figures = draw(name)
        if not figures:
            logging.getLogger(__name__).warning("no example in the docstring of %s makes a `figure`", name)
        for file, figure in zip((file_of(name), card_of(name)), figures, strict=False):
            _write(file, _png(figure))
    for sketch in sketches.ALL:
        _write(f"{sketch.__name__}.png", _png(sketch()))
    for path in sorted((Path(__file__).parent / "notebooks").glob("*.ipynb")):
        _write(f"{path.stem}.png", first_picture(path))


def draw(name: str) -> list[Figure]:
    """The last figure that the examples of a docstring make and call ``figure``, and that for a card; none without."""
    namespace: dict[str, Any] = {}
    last = None
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(reference.find(name)) or ""):
        exec(compile(example.source, f"<example of {name}>", "single"), namespace)
        last = example.source if example.source.startswith("figure = ") else last
    if last is None:
        return []
    figure, tree = namespace["figure"], ast.parse(last)
    if figure.get_figwidth() > CARD:
        size = ast.parse(f"_(figsize=({CARD}, None))").body[0].value.keywords
        call = tree.body[0].value
        call.keywords = [each for each in call.keywords if each.arg != "figsize"] + size
        exec(compile(ast.fix_missing_locations(tree), f"<card of {name}>", "exec"), namespace)
    return [figure, namespace["figure"]]


def first_picture(notebook: Path) -> bytes:
    """The first picture that the cells of a notebook show."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    outputs = (output.get("data", {}) for cell in cells for output in cell.get("outputs", ()))
    return base64.b64decode("".join(next(data["image/png"] for data in outputs if "image/png" in data)))


def file_of(name: str) -> str:
    """Name of the file with the picture of a function or method."""
    return f"{name.removeprefix('bayesnb.')}.png"


def card_of(name: str) -> str:
    """Name of the file with its picture in the gallery, which is not wide."""
    return f"{name.removeprefix('bayesnb.')}-card.png"


def page_of(name: str) -> str:
    """Name of the page that describes a function, or the class of a method."""
    return name if name in FUNCTIONS else name.rpartition(".")[0]


def show_picture(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Put the picture below the docstring of a function or method that draws."""
    if name in DRAWN:
        lines += ["", f".. image:: /api/generated/{file_of(name)}", f"   :alt: {summary(name)}", ""]


def summary(name: str) -> str:
    """The first line of a function's docstring."""
    return (inspect.getdoc(reference.find(name)) or "").partition("\n")[0]


class Gallery(SphinxDirective):
    """Cards of what draws, one name a line: the picture, the first line of the docstring, a link to the page."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The grid of cards."""
        lines = [".. grid:: 1 2 2 2", "   :gutter: 3", ""]
        for short in self.content:
            lines += [
                f"   .. grid-item-card:: {short.removeprefix('results.')}",
                f"      :img-top: /api/generated/{card_of(short)}",
                f"      :img-alt: {summary(f'bayesnb.{short}')}",
                f"      :link: /api/generated/{page_of(f'bayesnb.{short}')}",
                "      :link-type: doc",
                "",
                f"      {summary(f'bayesnb.{short}')}",
                "",
            ]
        container = nodes.Element()
        self.state.nested_parse(StringList(lines, "gallery"), self.content_offset, container)
        return container.children


def _png(figure: Figure) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=RESOLUTION, bbox_inches="tight")
    return buffer.getvalue()


def _write(name: str, content: bytes) -> None:
    # A file that is written again makes Sphinx build the pages that show it again.
    path = FOLDER / name
    if not path.is_file() or path.read_bytes() != content:
        path.write_bytes(content)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what draws and shows the pictures."""
    app.add_directive("gallery", Gallery)
    app.connect("builder-inited", draw_all)
    app.connect("autodoc-process-docstring", show_picture, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
