"""Run the examples of a page with the package as it is installed: ``python tests/docs/run_readme.py README.md``."""

import doctest
import sys

if __name__ == "__main__":
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(sys.argv[1], module_relative=False, optionflags=flags)
    print(f"{result.attempted} examples, {result.failed} failed")
    sys.exit(result.failed > 0 or result.attempted == 0)
