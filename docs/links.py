"""Links that nobody writes: code that names something public leads to its page in the reference.

The notebooks are in a folder beside docs/, which has a symbolic link to it. Links between them are put right here.
"""

import inspect
import re

import reference
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

NAME = re.compile(r"(?P<package>(?:nb|bayesnb)\.)?(?P<path>[A-Za-z_][\w.]*)(?P<call>\(.*\))?", re.DOTALL)
"""A dotted name, perhaps with the package before it and a call after it."""

VARIABLES = {
    "posterior": "Posterior",
    "exact": "ExactPosterior",
    "sampled": "SampledPosterior",
    "point": "PointPosterior",
    "weighted": "WeightedPosterior",
    "model": "NaiveBayes",
    "bound": "BoundModel",
    "comparison": "Comparison",
    "choice": "FamilyChoice",
    "grouping": "ColumnGrouping",
    "forest": "ColumnForest",
    "classifier": "NaiveBayesClassifier",
    "crowd": "AnnotationFit",
}
"""What a variable of an example holds, so that ``posterior.update`` is a method of `Posterior`."""

VERBS = {"explain", "forget", "predict", "simulate", "update"}
"""Methods of one word that the text calls by their name alone. Others, such as ``mean``, are names of columns, too."""

ARGUMENTS = {"class_probs", "feature_inclusion", "num_draws"}
"""Methods and properties whose name is that of an argument or of a column, too."""

ELSEWHERE = {
    "arviz": "arviz",
    "az": "arviz",
    "dist": "numpyro.distributions",
    "jax": "jax",
    "jnp": "jax.numpy",
    "np": "numpy",
    "numpyro": "numpyro",
    "pandas": "pandas",
    "pd": "pandas",
    "sklearn": "sklearn",
}
"""Other libraries by the names that the text gives them. Where the build knows no page of theirs, there is no link."""

METHODS_OF = {
    "guide/scikit-learn": "NaiveBayesClassifier",
    "howto/add-a-family": "Gaussian",
    "howto/add-a-family-without-a-closed-form": "Gaussian",
}
"""The class whose methods a page calls by their names alone. On other pages it is `Posterior`."""


class LinkNames(SphinxTransform):
    """Put a cross reference around each piece of code that names something public."""

    default_priority = 400

    def apply(self, **kwargs: object) -> None:
        """Replace the pieces of a page. Those in links and headings stay as they are."""
        for literal in list(self.document.findall(nodes.literal)):
            target = resolve(literal.astext(), self.env.docname)
            if target is None or _within(literal, (nodes.reference, nodes.title, nodes.rubric, pending_xref)):
                continue
            before = literal.previous_sibling()
            if before is not None and before.astext().rstrip().endswith("scikit-learn's"):
                continue
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=target, refdoc=self.env.docname)
            literal.replace_self(link)
            link += literal
        for link in self.document.findall(pending_xref):
            # Docstrings call the package nb in single backticks, too, and name classes without their module.
            target = link["reftarget"]
            if link["refdomain"] == "std":  # a page, such as drift
                continue
            if target.startswith("nb."):
                link["reftarget"] = resolve(target, self.env.docname) or target
            else:
                link["reftarget"] = FULL.get(target) or CLASSES.get(target) or MEMBERS.get(target) or target


class LinkNotebooks(SphinxTransform):
    """Lead links between notebooks to their pages."""

    default_priority = 400

    def apply(self, **kwargs: object) -> None:
        """MyST follows the symbolic link, and finds the file outside of docs/."""
        outside = f"{self.env.srcdir.parent}/"
        for link in self.document.findall(pending_xref):
            if link["reftarget"].startswith(f"{outside}notebooks/"):
                link["reftarget"] = link["reftarget"].removeprefix(outside)


def resolve(code: str, page: str = "") -> str | None:
    """The full name of the public thing that a piece of code names, or None.

    Parameters
    ----------
    code : str
        Such as ``nb.loo``, ``NUTS()``, ``Posterior.update``, ``exact.predict_proba(X)`` or ``predict_proba``.
    page : str
        The page that holds the code; it says whose methods are named without their class.
    """
    match = NAME.fullmatch(code)
    if match is None:
        return None
    path = match["path"]
    first, _, rest = path.partition(".")
    if first in ELSEWHERE and rest:
        return f"{ELSEWHERE[first]}.{rest}"
    if match["package"] or rest:
        member = ".".join(path.split(".")[-2:])
        return FULL.get(path) or MEMBERS.get(member) or _method(rest, VARIABLES.get(first, ""))
    if path in CLASSES:
        return CLASSES[path]
    if path in ARGUMENTS or not ("_" in path or path in VERBS or match["call"]):
        return None
    # A function of one word, such as compare, has the package before it; without, the text may mean another library's.
    method = _method(path, METHODS_OF.get(page, "")) or _method(path, "Posterior")
    return method or (FULL.get(path) if "_" in path else None) or _method(path, "NaiveBayes")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transforms."""
    app.add_transform(LinkNames)
    app.add_transform(LinkNotebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _method(name: str, cls: str) -> str | None:
    classes = ("Posterior", "ExactPosterior", "SampledPosterior") if cls == "Posterior" else (cls,)
    return next((MEMBERS[f"{one}.{name}"] for one in classes if f"{one}.{name}" in MEMBERS), None)


def _within(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    while node := node.parent:
        if isinstance(node, kinds):
            return True
    return False


FULL = {name.removeprefix("bayesnb."): name for name in reference.public_names()}
CLASSES = {name.rpartition(".")[2]: name for name in FULL.values() if inspect.isclass(reference.find(name))}
MEMBERS = {
    f"{short}.{home.rpartition('.')[2]}": home
    for short, name in CLASSES.items()
    for home in reference.homes(name, reference.find(name))
}
