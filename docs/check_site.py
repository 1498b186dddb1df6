"""Open every page of the built site in Chromium, and say what is wrong: `make docs-check`.

Looks for links and anchors that lead nowhere, images that do not show, formulas that are not set, errors of scripts,
requests to other machines, code and formulas that a desktop cuts off, pages wider than a phone, and words that the
search does not find.
"""

import argparse
import functools
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

from playwright.sync_api import Browser, Error, Page, Request, Response, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
PICTURED = ("index", "guide/model", "api/generated/bayesnb.Bernoulli", "api/generated/bayesnb.NaiveBayes", "design")

SEARCHES = {
    "active learning": "guide/decisions",
    "annotators": "guide/annotators",
    "citation": "about",
    "crowdsourcing": "guide/annotators",
    "Dawid-Skene": "guide/annotators",
    "hierarchical": "guide/learned-priors",
    "incremental": "scale",
    "online": "guide/decisions",
    "semi-supervised": "guide/unlabelled",
    "streaming": "scale",
    "tutorial": "notebooks",
    "prevalence": "guide/another-population",
    "deploy": "howto/serve-a-model",
    "custom prior": "howto/write-a-prior-of-your-own",
}
"""What readers search for, and the page that must be among the first three results."""

SETTLE = """async () => {
    for (const image of document.images) image.loading = "eager";
    await Promise.all([...document.images].map(image => image.decode().catch(() => null)));
    if (window.MathJax) await MathJax.startup?.promise;
    await document.fonts.ready;
}"""

READ = r"""() => {
    const untouched = "script, style, code, pre, textarea, mjx-container, .math";
    const walker = document.createTreeWalker(document.querySelector("main") ?? document.body, NodeFilter.SHOW_TEXT);
    const raw = [];
    for (let node; (node = walker.nextNode());) {
        const tex = node.data.match(/\\[()[\]]|\$\$|\\(begin|end)\{|\$[^$\n]*\\[A-Za-z]+[^$\n]*\$/);
        if (tex && !node.parentElement.closest(untouched)) raw.push(node.data.trim().slice(0, 60));
    }
    const article = document.querySelector("article, main, body").getBoundingClientRect().right;
    const longer = (one, other) => one.length < other.length ? other : one;
    const longest = block => block.textContent.split("\n").reduce(longer);
    const cut = formula => {
        const box = formula.querySelector("mjx-math")?.getBoundingClientRect();
        if (!box || formula.closest("table")) return false;
        const display = formula.getAttribute("display") === "true";
        return display ? box.width > formula.clientWidth + 1 : box.right > article + 1;
    };
    const failed = "mjx-merror, [data-mjx-error], mjx-assistive-mml merror, mjx-assistive-mml mtext[mathcolor=red]";
    const formulas = [...document.querySelectorAll(".math")];
    return {
        links: [...document.querySelectorAll("a[href]")].map(a => a.getAttribute("href")),
        ids: [...document.querySelectorAll("[id], a[name]")].map(node => node.id || node.name),
        images: [...document.images].filter(image => !image.naturalWidth).map(image => image.getAttribute("src")),
        raw,
        unset: formulas.filter(node => !node.querySelector("mjx-container")).map(node => node.textContent.slice(0, 60)),
        failed: [...document.querySelectorAll(failed)].map(node => node.textContent.slice(0, 60)),
        clipped: [...document.querySelectorAll("main pre")].filter(block => block.scrollWidth > block.clientWidth + 1)
            .map(block => `${longest(block).length} characters: ${longest(block).slice(0, 100)}`),
        cut: [...document.querySelectorAll("main mjx-container")].filter(cut)
            .map(formula => formula.textContent.slice(0, 60)),
    };
}"""

FOUND = """() => /finished|did not match/.test(document.querySelector("#search-results p")?.textContent)"""

OVERFLOW = """() => document.documentElement.scrollWidth - document.documentElement.clientWidth"""


class Report(list):
    """Lines that say on which page something is wrong."""

    def add(self, page: str, wrong: str) -> None:
        """Note a line once."""
        line = f"{page}: {wrong}"
        if line not in self:
            self.append(line)


def check_site(folder: Path, screenshots: Path | None = None) -> list[str]:
    """What is wrong with the site in a folder, a line each.

    Parameters
    ----------
    folder : Path
        What Sphinx wrote as HTML.
    screenshots : Path, optional
        Folder for pictures of a few pages on a desktop and on a phone.
    """
    pages = find_pages(folder)
    if not pages:
        raise SystemExit(f"{folder} holds no page: run make docs first")
    report = Report()
    with serve(folder) as root, open_browser() as browser:
        page = browser.new_page(viewport=DESKTOP)
        current = watch(page, root, report)
        contents = {}
        for name in pages:
            current[:] = [name]
            contents[name] = visit(page, root, name, report)
        if "search.html" in pages:
            current[:] = ["search.html"]
            check_search(page, root, report)
        if screenshots:
            take_pictures(page, root, pages, screenshots)
    for name, content in contents.items():
        check_links(folder, name, contents, content["links"], report)
    return report


def find_pages(folder: Path) -> list[str]:
    """Paths of the pages, from the folder."""
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*.html"))
    return [path.as_posix() for path in paths if not path.parts[0].startswith("_")]


def find_browser() -> str | None:
    """Where a Chromium is; the environment variable CHROMIUM names another."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """The system's Chromium without a window."""
    executable = find_browser()
    if executable is None:
        raise SystemExit("no Chromium found: apt-get install chromium, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable)
        yield browser
        browser.close()


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine, and give its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name for it
        pass


def watch(page: Page, root: str, report: Report) -> list[str]:
    """Report what goes wrong behind a page: requests, scripts. The list given back names the page being read."""
    current = [""]

    def filter_request(route, request: Request) -> None:
        if request.url.startswith((root, "data:", "blob:")):
            route.continue_()
        else:
            report.add(current[0], f"request to another machine: {request.url}")
            route.abort()

    def note_response(response: Response) -> None:
        if response.status >= 400:
            report.add(current[0], f"{response.status} for {response.url.removeprefix(root)}")

    def note_message(message) -> None:
        # What failed to load is reported by its response or its request.
        if message.type == "error" and "Failed to load resource" not in message.text:
            report.add(current[0], f"error on the console: {message.text}")

    page.route("**/*", filter_request)
    page.on("response", note_response)
    page.on("console", note_message)
    page.on("pageerror", lambda error: report.add(current[0], f"error in a script: {error}"))
    return current


def visit(page: Page, root: str, name: str, report: Report) -> dict[str, list[str]]:
    """Open a page, report what it shows wrong, and give its links and anchors."""
    try:
        page.set_viewport_size(DESKTOP)
        page.goto(root + name)
        page.evaluate(SETTLE)
        content = page.evaluate(READ)
        page.set_viewport_size(PHONE)
        overflow = page.evaluate(OVERFLOW)
    except Error as error:
        report.add(name, f"cannot be read: {error.message.splitlines()[0]}")
        return {"links": [], "ids": []}
    for kind, wrong in {
        "images": "image does not show",
        "raw": "TeX left as text",
        "unset": "formula is not set",
        "failed": "error in a formula",
        "clipped": "code wider than its block",
        "cut": "formula wider than the page",
    }.items():
        for item in content[kind]:
            report.add(name, f"{wrong}: {item}")
    if overflow > 0:
        report.add(name, f"{overflow} pixels wider than a phone of {PHONE['width']}")
    return content


def check_links(folder: Path, name: str, contents: dict[str, dict], links: list[str], report: Report) -> None:
    """Report links of a page that lead to no file, or to no anchor of a page."""
    for link in links:
        if urlsplit(link).scheme or link.startswith("//"):
            continue
        target, anchor = urldefrag(urljoin(name, link) if not link.startswith("#") else name + link)
        path = unquote(urlsplit(target).path)
        if path in ("", ".") or path.endswith("/"):
            path += "index.html"
        if not (folder / path).is_file():
            report.add(name, f"link to no page: {link}")
        elif anchor and path in contents and unquote(anchor) not in contents[path]["ids"]:
            report.add(name, f"link to no anchor: {link}")


def check_search(page: Page, root: str, report: Report, searches: Mapping[str, str] = SEARCHES) -> None:
    """Report words for which the search does not give the right page among the first three."""
    for words, right in searches.items():
        page.goto(f"{root}search.html?q={quote(words)}")
        page.wait_for_function(FOUND)
        links = page.locator("#search-results > ul.search > li > a")
        found = [links.nth(place).get_attribute("href") for place in range(min(links.count(), 3))]
        names = [urlsplit(link).path.removesuffix(".html") for link in found]
        if right not in names:
            report.add("search.html", f"a search for {words!r} gives {', '.join(names) or 'nothing'}, not {right}")


def take_pictures(page: Page, root: str, pages: list[str], folder: Path) -> None:
    """Picture a few pages at both widths, and the first notebook."""
    folder.mkdir(parents=True, exist_ok=True)
    notebooks = [name for name in pages if name.startswith("notebooks/")]
    for name in [f"{name}.html" for name in PICTURED if f"{name}.html" in pages] + notebooks[:1]:
        for device, size in {"desktop": DESKTOP, "phone": PHONE}.items():
            page.set_viewport_size(size)
            page.goto(root + name)
            page.evaluate(SETTLE)
            stem = name.removesuffix(".html").replace("/", "-")
            page.screenshot(path=folder / f"{stem}-{device}.png", full_page=True)


def main() -> int:
    """Check the site, print what is wrong, and say whether all is well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent / "_build" / "html")
    parser.add_argument("--screenshots", type=Path, metavar="DIR", help="write pictures of a few pages there")
    arguments = parser.parse_args()
    report = check_site(arguments.folder, arguments.screenshots)
    print(*report, sep="\n", end="\n" if report else "")
    print(f"{len(find_pages(arguments.folder))} pages, {len(report)} wrong" if report else "every page is in order")
    return 1 if report else 0


if __name__ == "__main__":
    sys.exit(main())
