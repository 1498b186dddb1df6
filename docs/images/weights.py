"""Draw weights.png and weights_calibration.png, the pictures of docs/guide/weights.md, from the examples of that page.

Run it with the package and its plots installed: ``python docs/images/weights.py``.
"""

import doctest
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Run the examples, and draw what they leave."""
    page = (HERE.parent / "guide" / "weights.md").read_text("utf-8")
    names: dict = {}
    for example in doctest.DocTestParser().get_examples(page):
        if not example.exc_msg:
            exec(example.source, names)
    names["weighted"].plot().savefig(HERE / "weights.png", dpi=150)
    names["found"].plot().savefig(HERE / "weights_calibration.png", dpi=150)


if __name__ == "__main__":
    main()
