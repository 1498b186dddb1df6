"""Run the examples of pages with the package as it is installed: ``python tests/docs/run_readme.py README.md``."""

import doctest
import re
import sys
from pathlib import Path

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def run(path: str) -> doctest.TestResults:
    """Run the examples of a page."""
    # The fence that ends a block is no output of its last example.
    text = re.sub(r"^```.*$", "", Path(path).read_text("utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, path, path, 0)
    return doctest.DocTestRunner(optionflags=FLAGS).run(examples)


if __name__ == "__main__":
    failed = False
    for page in sys.argv[1:]:
        result = run(page)
        print(f"{page}: {result.attempted} examples, {result.failed} failed")
        failed |= result.failed > 0 or result.attempted == 0
    sys.exit(failed or len(sys.argv) == 1)
