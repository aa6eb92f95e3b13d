"""The page of `compressive report` in headless Chromium: no error, no outside request, hover and axes work, axe-core finds nothing serious.

The screenshots that the guide shows are made anew by `python tests/test_report.py`."""

import json
import os
import pathlib
import shutil
import sys

import numpy as np
import pytest
from testing import ROOT, Program

AXE = ROOT / ".venv" / "axe" / "axe-core-4.14.0" / "package" / "axe.min.js"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
FLAGS += ["--disable-component-update"]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium")
    assert executable, "install Chromium, as ./test does"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """A page in the browser with all that it asked for and complained about."""

    def __init__(self, browser, path, width=1280, dark=False):
        scheme = "dark" if dark else "light"
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def outside(self):
        return [url for url in self.requests if not url.startswith(("file:", "data:"))]

    def serious(self):
        """What axe-core finds serious or worse."""
        # The page's own policy forbids foreign scripts; the test brings one on purpose, as a person with developer tools may.
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run()")
        return [
            (rule["id"], [node["html"][:200] for node in rule["nodes"][:3]])
            for rule in found["violations"]
            if rule["impact"] in ("serious", "critical")
        ]

    def overflow(self):
        return self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def clusters(path, k, dim, rows=20_000, seed=1, shift=0.0):
    """Unit Gaussians, well apart; with a shift, the first has moved."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(77).normal(0, 3 * k ** (1 / dim), (k, dim))
    means[0] += shift
    np.save(path, (means[rng.integers(0, k, rows)] + rng.normal(0, 1, (rows, dim))).astype(np.float32))


def make(program, folder, k, dim, task="kmeans"):
    """A report on k clusters in dim columns; a model written by hand, so that no time goes into learning."""
    clusters(folder / "rows.npy", k, dim)
    program("sketch", "rows.npy", "-o", "rows.sketch", "--task", task, "-k", k, "--size", min(4 * k * dim, 2000), "-q")
    rng = np.random.default_rng(77)
    means = rng.normal(0, 3 * k ** (1 / dim), (k, dim))
    columns = program.json("inspect", "rows.sketch")["spec"]["columns"]
    weights = [1 / k] * k
    model = {"format": 1, "task": task, "k": k, "columns": columns, "weights": weights}
    if task == "gmm":
        model |= {"means": means.tolist(), "covariances": np.ones((k, dim)).tolist()}
    else:
        model |= {"centers": means.tolist()}
    (folder / "model.json").write_text(json.dumps(model))
    program("report", "rows.sketch", "model.json", "--data", "rows.npy", "--sweep", "false", "-o", "report.html", "-q")
    return folder / "report.html"


@pytest.mark.parametrize(("k", "dim"), [(2, 2), (10, 10), (64, 10), (10, 100)])
def test_a_report_opens_without_complaint_at_any_size(program, tmp_path, browser, k, dim):
    path = make(program, tmp_path, k, dim, "gmm")
    for width, dark in ((1280, False), (390, True)):
        opened = Opened(browser, path, width, dark)
        assert opened.page.locator("ol.components > li").count() == k
        assert opened.page.locator("#map-shapes ellipse").count() == k
        assert opened.page.locator("ol.components > li:first-child svg g").count() == dim
        assert opened.complaints == [] and opened.outside() == []
        assert opened.overflow() <= 0, "the page is wider than the screen"
        assert opened.serious() == []


def test_hover_and_axes_work_and_every_control_is_reached_by_keyboard(program, tmp_path, browser):
    opened = Opened(browser, make(program, tmp_path, 3, 4))
    page = opened.page
    assert page.locator("#tip").is_hidden()
    page.locator("ol.components > li:first-child svg g").first.hover()
    assert page.locator("#tip").is_visible() and "from all rows" in page.locator("#tip").inner_text()
    page.locator("#map-shapes g").nth(1).hover(force=True)
    assert page.locator("#tip").inner_text().startswith("2: 33.3%")
    assert page.locator("ol.components > li.lit b").inner_text() == "2"

    before = [page.locator("#map-shapes text").nth(i).get_attribute("x") for i in range(3)]
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"axis-x", "axis-y", "SUMMARY"} <= reached
    page.select_option("#axis-x", label="x1")
    page.select_option("#axis-y", label="x3")
    after = [page.locator("#map-shapes text").nth(i).get_attribute("x") for i in range(3)]
    assert before != after
    assert page.locator("#map-svg .axis").all_text_contents() == ["x1", "x3"]
    # Places on the new axis are those of the model's means: the same order, in proportion.
    means = np.array(json.loads((tmp_path / "model.json").read_text())["centers"])[:, 1]
    places = np.array([float(x) for x in after])
    assert np.corrcoef(means, places)[0, 1] > 0.999999
    assert "Map on x1 and x3" in page.locator("#map-svg").get_attribute("aria-label")
    assert opened.complaints == []


def test_a_series_shows_the_day_that_differs(program, tmp_path, browser):
    for day in range(5):
        clusters(tmp_path / f"day-{day}.npy", 3, 4, seed=day, shift=1.0 if day >= 3 else 0.0)
    program("design", "day-0.npy", "--task", "gmm", "-k", 3, "-o", "spec.json", "-q")
    for day in range(5):
        program("sketch", f"day-{day}.npy", "--spec", "spec.json", "-o", f"day-{day}.sketch", "-q")
    program("fit", "day-0.sketch", "--task", "gmm", "-k", 3, "-o", "model.json")
    sketches = [f"day-{day}.sketch" for day in range(5)]
    shown = program.json("report", *sketches, "model.json", "-o", "report.html")
    assert shown["sketches"] == 5 and len(shown["candidates"]) >= 4
    opened = Opened(browser, tmp_path / "report.html")
    caption = opened.page.locator("#drift figcaption").first.inner_text()
    assert "different from the one before: day-3." in caption
    assert opened.page.locator("#shares-svg rect.bar").count() == 15
    assert opened.page.locator("#objective-svg circle.chosen").count() == 1
    assert opened.serious() == [] and opened.complaints == []


@pytest.mark.parametrize("what", ["pca", "stable", "one-column", "private", "nystrom", "no-model", "classify", "generate"])
def test_every_kind_of_sketch_and_model_has_a_page(program, tmp_path, browser, what):
    clusters(tmp_path / "rows.npy", 3, 1 if what == "one-column" else 3)
    files, data = ["rows.sketch", "model.json"], ["--data", "rows.npy"]
    if what == "pca":
        program("sketch", "rows.npy", "--task", "pca", "-k", 2, "-o", "rows.sketch", "-q")
        program("fit", "rows.sketch", "--task", "pca", "-k", 2, "-o", "model.json")
    elif what == "classify":
        table = np.load(tmp_path / "rows.npy")
        lines = ["a,b,c,label"] + [",".join(f"{x:.4f}" for x in row) + f",{int(row[0] > 0)}" for row in table]
        (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
        program("sketch", "rows.csv", "--task", "classify", "--by", "label", "-o", "classes", "-q")
        program("fit", "classes", "--task", "classify", "--method", "mixture", "-o", "model.json")
        files, data = ["model.json", *sorted(str(p) for p in (tmp_path / "classes").iterdir())], ["--data", "rows.csv"]
    else:
        extra = {"private": ["--bounds=-30:30", "--private", "0"], "nystrom": ["--feature", "nystrom"]}.get(what, [])
        program("sketch", "rows.npy", "--task", "gmm", "-k", 3, "-o", "rows.sketch", "-q", *extra)
        if what == "private":
            program("privatize", "rows.sketch", "-o", "private.sketch", "--epsilon", 5)
            files = ["private.sketch", "model.json"]
        if what == "generate":
            program("fit", "rows.sketch", "--task", "generate", "--steps", 30, "-o", "model.json", "-q")
            data = []
        elif what == "no-model":
            files = ["rows.sketch"]
        else:
            task = what if what == "stable" else "gmm"
            program("fit", files[0], "--task", task, "-k", 3, "-o", "model.json", "-q")
    program("report", *files, *data, "--sweep", "false", "-o", "report.html", "-q")
    opened = Opened(browser, tmp_path / "report.html")
    assert opened.complaints == [] and opened.outside() == [] and opened.serious() == []
    assert opened.page.locator("h2").count() >= 4
    if what == "private":
        assert "epsilon 5" in opened.page.locator("#privacy").inner_text()
    if what == "generate":
        assert opened.page.locator("#map-points circle").count() == 1000


def test_a_report_refuses_what_does_not_belong_together(program, tmp_path):
    clusters(tmp_path / "rows.npy", 2, 2)
    program("sketch", "rows.npy", "-k", 2, "-o", "rows.sketch", "-q")
    program("fit", "rows.sketch", "-k", 2, "-o", "model.json")
    assert "no sketch among model.json" in program.fails("report", "model.json")
    assert "2 models" in program.fails("report", "rows.sketch", "model.json", "model.json")
    other = (tmp_path / "model.json").read_text().replace('"x0"', '"y"')
    (tmp_path / "other.json").write_text(other)
    assert "do not belong together" in program.fails("report", "rows.sketch", "other.json")
    program("sketch", "rows.npy", "-k", 5, "-o", "other.sketch", "-q")
    assert "other.sketch" in program.fails("report", "rows.sketch", "other.sketch")
    assert not (tmp_path / "report.html").exists()


def shots(folder):
    """Screenshots for the guide: ten clusters over a week of sketches, wide and narrow."""
    from playwright.sync_api import sync_playwright

    program = Program(folder)
    for day in range(7):
        clusters(folder / f"day-{day + 1}.npy", 10, 10, rows=50_000, seed=day, shift=1.0 if day >= 5 else 0.0)
    program("design", "day-1.npy", "--task", "gmm", "-k", 10, "-o", "spec.json", "-q")
    sketches = []
    for day in range(1, 8):
        sketches.append(f"day-{day}.sketch")
        program("sketch", f"day-{day}.npy", "--spec", "spec.json", "-o", sketches[-1], "-q")
    program("fit", "day-1.sketch", "--task", "gmm", "-k", 10, "-o", "model.json")
    program("report", *sketches, "model.json", "--data", "day-1.npy", "--title", "A week of ten clusters", "-q")
    target = ROOT / "docs" / "images"
    target.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for width, dark in ((1280, False), (390, True)):
            opened = Opened(browser, folder / "report.html", width, dark)
            opened.page.screenshot(path=target / f"report-{width}.png", full_page=True)
        browser.close()


if __name__ == "__main__":
    import tempfile

    os.environ.setdefault("COMPRESSIVE", str(ROOT / "target" / "debug" / "compressive"))
    sys.path.insert(0, str(ROOT / "tests"))
    with tempfile.TemporaryDirectory() as folder:
        shots(pathlib.Path(folder))
