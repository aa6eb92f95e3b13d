"""The code of the user guide runs and prints what the guide says.

Every python block of a page is run, in order, in one namespace and in a temporary folder. A text block that follows is
the block's output. A comment ``<!-- skip: reason -->`` before a block leaves it out. Pages about the collector run with
one of their own in place of that at ``COLLECTOR``. The site builds from its sources alone, and its pages load nothing
from elsewhere.
"""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import warnings
from typing import NamedTuple

import pytest
from testing import ROOT, Server

PAGES = ROOT / "docs" / "python"
BLOCK = re.compile(
    r"(?:<!-- skip: (?P<reason>[^>]+) -->\n)?^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
# What a page needs beside numpy; a page is left out where it is not installed.
NEEDS = {
    "quickstart": ["sklearn"],
    "estimators": ["sklearn"],
    "tables": ["pandas", "polars", "pyarrow"],
    "sql": ["duckdb", "datafusion", "pyarrow"],
    "spark": ["dask", "pandas", "pyarrow"],
    "private": ["sklearn"],
    "plots": ["matplotlib"],
    "collect": ["pandas", "pyarrow"],
}
# The address of the collector in the pages.
COLLECTOR = "http://127.0.0.1:8321"


class Block(NamedTuple):
    code: str
    output: str | None
    skipped: str | None
    line: int


def blocks(path):
    text = path.read_text()
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code"))
        yield Block(match["code"], match["output"], match["reason"], line)


def with_code():
    return sorted(path for path in PAGES.glob("*.md") if any(True for _ in blocks(path)))


@contextlib.contextmanager
def collector(page, folder):
    """The address of a collector, if the page names one."""
    if COLLECTOR not in page.read_text():
        yield COLLECTOR
        return
    server = Server(folder / "collector")
    try:
        yield server.url
    finally:
        server.kill()


@pytest.mark.parametrize("page", with_code(), ids=lambda path: path.stem)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    for module in NEEDS.get(page.stem, []):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "page"}
    with collector(page, tmp_path) as url:
        for block in blocks(page):
            if block.skipped:
                continue
            # The lines of the page, so that a traceback points into it.
            code = compile("\n" * block.line + block.code.replace(COLLECTOR, url), str(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                exec(code, namespace)
            assert printed.getvalue() == (block.output or ""), f"{page.name}, line {block.line}"


def test_no_python_block_of_the_pages_is_missed():
    for page in PAGES.glob("*.md"):
        assert page.read_text().count("```python\n") == len(list(blocks(page))), page.name


def build(python, folder):
    # The theme's notice about its successor is not a fault of the pages.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [python, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout + done.stderr == ""
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for module in ("mkdocs", "material", "mkdocstrings", "latex2mathml"):
        pytest.importorskip(module)
    return build(sys.executable, tmp_path_factory.mktemp("site"))


@pytest.mark.slow
def test_the_site_builds_with_what_its_requirements_name_and_the_package(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", "docs/requirements.txt"]
    subprocess.run([*command, *(ROOT / "target" / "wheels").glob("*.whl")], cwd=ROOT, check=True)
    build(python, tmp_path / "site")


def test_the_pages_of_the_site_load_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text()
        loaded = re.findall(r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(\w+:[^"'\s>]+)""", text)
        loaded += re.findall(r"""<link[^>]*\srel=["']?stylesheet[^>]*\shref=["']?(\w+:[^"'\s>]+)""", text)
        assert loaded == [], page


def test_formulas_of_the_site_are_mathml(site):
    page = (site / "math" / "index.html").read_text()
    assert page.count("<math") > 150
    assert "arithmatex" not in page


def test_the_reference_has_the_words_of_the_compiled_module(site):
    page = (site / "python" / "reference" / "index.html").read_text()
    assert "Norm of each frequency" in page
    for name in ("compressive.Sketch.update", "compressive.estimators.KMeans.predict", "compressive.plot.drift"):
        assert f'id="{name}"' in page, name
