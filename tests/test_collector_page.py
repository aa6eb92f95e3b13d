"""The page of `compressive serve` in headless Chromium: no error, no outside request, nothing before the token, names stay text, rows rise while they are pushed.

The screenshots that the guide shows are made anew by `python tests/test_collector_page.py`."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import test_report
from playwright.sync_api import expect
from test_report import FLAGS
from testing import PROGRAM, ROOT, SKETCH, Program, Server

browser = test_report.browser
HOSTILE = "<img src=x onerror=document.title='owned'>"
SLOW = 30_000


class Opened(test_report.Opened):
    """The page in the browser, as that of a report, but with a server behind it."""

    def __init__(self, browser, server, width=1280, dark=False):
        scheme = "dark" if dark else "light"
        self.url = server.url
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(server.url)

    def __getitem__(self, selector):
        return self.page.locator(selector)

    def fits(self):
        return sum(url.endswith("/v1/fit") for url in self.requests)

    def check(self, unknown=0):
        """No complaint (but those on so many refused tokens), no outside request, nothing serious for axe-core, no wider than the screen."""
        refused = [text for text in self.complaints if "401 (Unauthorized)" in text]
        assert self.complaints == refused and len(refused) <= unknown, self.complaints
        assert [url for url in self.requests if not url.startswith((self.url, "data:"))] == []
        assert self.overflow() <= 0 and self.serious() == []

    def learn(self, task, k):
        self["#task"].select_option(task)
        self["#k"].fill(str(k))
        self["#fit button"].click()
        expect(self["#model-say"]).to_contain_text("learned from", timeout=SLOW)


def clusters(path, seed, shift=0.0, rows=4000, columns=("a", "b", "c")):
    """Three clusters, of which the first has moved by the shift."""
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 0.0, 0.0], [6.0, 6.0, 0.0], [-6.0, 5.0, 3.0]])
    means[0] += shift
    values = means[rng.integers(0, 3, rows)] + rng.normal(0, 1, (rows, 3))
    lines = [",".join(columns)] + [",".join(f"{x:.4f}" for x in row) for row in values]
    path.write_text("\n".join(lines) + "\n")
    return path.name


def stream(program, server, name="fleet", feature="fourier", every="day", columns=("a", "b", "c"), token=None):
    """A stream of a spec for the clusters."""
    rows = clusters(program.cwd / "pilot.csv", 1, columns=columns)
    program(
        "design", rows, "-k", 3, "--feature", feature, "--bounds=-12:12", "--private", 0, "-o", f"{name}.json", "-q"
    )
    headers = {"authorization": f"Bearer {token}"} if token else {}
    spec = (program.cwd / f"{name}.json").read_bytes()
    assert server.ask("PUT", f"/v1/streams/{name}?every={every}", spec, headers)[0] == 201


def push(program, server, bucket, *extra, name="fleet", seed=1, **cloud):
    rows = clusters(program.cwd / f"rows-{bucket}-{seed}.csv", seed, **cloud)
    program("push", rows, "--to", server.url, "--stream", name, "--bucket", bucket, *extra)


def week(program, server, shifts=(0, 0, 0, 2, 2)):
    stream(program, server)
    for day, shift in enumerate(shifts):
        push(program, server, f"2026-11-{day + 10}", seed=day + 2, shift=shift)


def test_an_empty_server_says_what_to_do_first_and_shows_the_first_stream_by_itself(program, server, browser):
    opened = Opened(browser, server)
    expect(opened["#first"]).to_be_visible()
    commands = opened["#first-commands"].inner_text()
    assert f"compressive push rows.csv --to {server.url} --stream fleet" in commands
    assert "curl -X PUT" in commands and "compressive design" in commands
    opened.check()
    # The commands do what they say, with the host and the rows that there are.
    clusters(program.cwd / "rows.csv", 1)
    directory = str(PROGRAM.parent)
    environment = os.environ | {"PATH": f"{directory}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-ec", commands], cwd=program.cwd, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    expect(opened["#stream-facts"]).to_contain_text("4,000 in exact sums", timeout=SLOW)
    expect(opened["#first"]).to_be_hidden()
    opened.check()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_the_page_opens_without_complaint_and_shows_rows_drift_and_model(program, server, browser, width, dark):
    week(program, server)
    opened = Opened(browser, server, width, dark)
    expect(opened["#rows-svg rect.exact"]).to_have_count(5)
    expect(opened["#stream-facts"]).to_contain_text("20,000 in exact sums")
    expect(opened["#state"]).to_have_text("server ok")
    expect(opened["#updated"]).to_contain_text("updated")
    expect(opened["#server-facts"]).to_contain_text("20,000 counted since it started")
    opened.learn("gmm", 3)
    assert opened["#model-svg ellipse"].count() == 3
    for summary in opened["#all summary"].all():
        summary.click()
    assert opened["#buckets-table tbody tr"].count() == 5 and opened["#components-table tbody tr"].count() == 3
    opened.check()


def test_an_alarm_is_raised_for_a_bucket_that_differs_and_for_no_other(program, server, browser):
    week(program, server, (0, 0, 0, 0))
    opened = Opened(browser, server)
    expect(opened["#alarms"]).to_contain_text("No drift alarm")
    # Four buckets have five comparisons: three with the one before, two more with the first.
    expect(opened["#drift-caption"]).to_contain_text("0.01 / 5 = 0.002")
    assert opened["#drift-svg .alarm"].count() == 0 and opened["#drift-svg .mark"].count() == 5
    push(program, server, "2026-11-14", seed=9, shift=1)
    push(program, server, "2026-11-15", seed=10, shift=1)
    expect(opened["#alarms li"]).to_have_count(2, timeout=SLOW)
    alarms = opened["#alarms li"].all_inner_texts()
    assert alarms[0].startswith("2026-11-15 differs from the first one shown (p") and "before" not in alarms[0]
    assert alarms[1].startswith("2026-11-14 differs from the bucket before it (p") and "first one shown" in alarms[1]
    assert opened["#drift-svg path.alarm"].count() == 3
    opened.check()


def test_a_model_has_k_marks_and_is_learned_only_when_asked_for(program, server, browser):
    week(program, server, (0, 0))
    opened = Opened(browser, server)
    expect(opened["#stream-facts"]).to_contain_text("8,000 in exact sums")
    opened.page.wait_for_timeout(5000)
    assert opened.fits() == 0 and opened["#picture"].is_hidden()
    for task, k in (("kmeans", 3), ("kmeans", 5), ("gmm-full", 3), ("kmedians", 2)):
        opened.learn(task, k)
        expect(opened["#model-svg g.shape"]).to_have_count(k)
    opened.learn("kmeans", "auto")
    expect(opened["#model-svg g.shape"]).to_have_count(3)
    # The marks lie where the server's own model has its centres.
    body = json.dumps({"streams": ["fleet"], "task": "kmeans", "k": "auto"})
    centers = np.array(json.loads(server.ask("POST", "/v1/fit", body)[1])["centers"])
    opened["#axis-x"].select_option(label="c")
    opened["#axis-y"].select_option(label="a")
    for axis, column, sign in (("x", 2, 1), ("y", 0, -1)):
        places = [float(text.get_attribute(axis)) for text in opened["#model-svg g.shape text"].all()]
        assert np.corrcoef(places, sign * centers[:, column])[0, 1] > 0.999999
    assert opened["#model-svg .axis"].all_text_contents() == ["c", "a"]
    opened["#axis-y"].select_option(label="share of the rows, %")
    asked = opened.fits()
    opened["#k"].fill("201")
    opened["#fit button"].click()
    expect(opened["#model-say"]).to_have_text("k is a whole number from 1 to 200, or auto.")
    # Rows that come leave the model alone, until the reader wants it kept up to date and they are more than a tenth.
    opened["#k"].fill("3")
    push(program, server, "2026-11-12", seed=20)
    expect(opened["#stream-facts"]).to_contain_text("12,000 in exact sums", timeout=SLOW)
    assert opened.fits() == asked
    opened["#auto"].check()
    push(program, server, "2026-11-12", seed=21, rows=100)
    expect(opened["#model-say"]).to_contain_text("learned from 12,100 rows", timeout=SLOW)
    push(program, server, "2026-11-12", seed=22, rows=200)
    expect(opened["#stream-facts"]).to_contain_text("12,300 in exact sums", timeout=SLOW)
    opened.page.wait_for_timeout(3000)
    assert opened.fits() == asked + 1
    opened.check()


def test_rows_rise_without_a_reload_as_a_client_pushes_and_polls_are_few(program, server, browser):
    stream(program, server)
    opened = Opened(browser, server)
    expect(opened["#waiting-command"]).to_have_text(f"compressive push rows.csv --to {server.url} --stream fleet")
    navigations = []
    opened.page.on("framenavigated", lambda frame: navigations.append(frame.url))
    # One push after another, each seen before the next: what the page shows does not hang on how fast this machine is.
    for turn in range(1, 5):
        rows = clusters(program.cwd / f"rows-{turn}.csv", turn, rows=2000)
        program("push", rows, "--to", server.url, "--stream", "fleet", "--batch", "100")
        expect(opened["#stream-facts"]).to_contain_text(f"{2000 * turn:,} in exact sums", timeout=SLOW)
    assert navigations == []
    # An idle server is asked for its counters, and for nothing that has to be worked out.
    opened.page.wait_for_timeout(2500)
    before = len(opened.requests)
    opened.page.wait_for_timeout(6500)
    idle = [url.removeprefix(server.url) for url in opened.requests[before:]]
    assert 3 <= idle.count("/metrics") <= 4 and "/v1/drift" not in "".join(idle) and len(idle) <= 10, idle
    opened.check()


def test_nothing_is_shown_before_the_token_and_a_wrong_one_is_refused_in_words(program, tmp_path, browser):
    admin = program("token", "create", "data", "--role", "admin").strip()
    read = program("token", "create", "data", "--role", "read", "--stream", "fleet").strip()
    ingest = program("token", "create", "data", "--role", "ingest").strip()
    server = Server(tmp_path / "data")
    stream(program, server, token=admin)
    stream(program, server, name="hidden", token=admin)
    (tmp_path / "token").write_text(admin)
    push(program, server, "2026-11-10", "--token", "token")
    status, document = server.ask("GET", "/")
    assert status == 200 and b"fleet" not in document and b"2026" not in document
    opened = Opened(browser, server)
    expect(opened["#door"]).to_be_visible()
    text = opened["body"].inner_text()
    assert "fleet" not in text and "4,000" not in text and opened["#all"].is_hidden()
    opened["#token"].fill("nonsense")
    opened["#token"].press("Enter")
    expect(opened["#door-problem"]).to_have_text("The server does not know this token, or it was revoked.")
    assert opened["#all"].is_hidden() and "fleet" not in opened.page.content()
    opened.check(unknown=2)
    opened["#token"].fill(ingest)
    opened["#token"].press("Enter")
    expect(opened["#first-why"]).to_have_text("There is no stream that this token may read.")
    opened["#forget"].click()
    opened["#token"].fill(read)
    opened["#token"].press("Enter")
    expect(opened["#stream-facts"]).to_contain_text("4,000 in exact sums")
    assert opened["#streams-table tbody tr"].count() == 1, "the other stream is not this reader's"
    assert opened.page.evaluate("[localStorage.length, document.cookie, sessionStorage.length]") == [0, "", 1]
    assert read not in opened.page.url and not any(read in url for url in opened.requests)
    opened.page.reload()
    expect(opened["#stream-facts"]).to_contain_text("4,000 in exact sums")
    # A token that is revoked takes what it showed with it.
    program("token", "revoke", "data", program.json("token", "list", "data")[1]["id"])
    push(program, server, "2026-11-11", "--token", "token")
    expect(opened["#door-problem"]).to_contain_text("revoked", timeout=SLOW)
    assert "fleet" not in opened.page.content() and "4,000" not in opened.page.content()
    assert opened.page.evaluate("sessionStorage.length") == 0
    opened.check(unknown=3)
    server.kill()


def test_names_from_outside_are_text(program, server, browser):
    columns = (HOSTILE, "b", '"><script>document.title="owned"</script>')
    stream(program, server, columns=columns)
    for day in (10, 11):
        push(program, server, f"2026-11-{day}", seed=day, columns=columns)
    opened = Opened(browser, server)
    expect(opened["#stream-facts"]).to_contain_text(HOSTILE)
    opened.learn("kmeans", 3)
    opened["#model summary"].click()
    assert opened["#model-svg .axis"].first.text_content() == HOSTILE
    assert opened["#components-table th"].all_text_contents()[2] == HOSTILE
    assert opened["img"].count() == 0 and opened["script"].count() == 1
    assert opened.page.title() == "compressive collector"
    # A name in the address that is none, or no name at all, changes nothing.
    for name in ("#%3Cimg%20src=x%20onerror=alert(1)%3E", "#%E0%A4%A", "#nobody"):
        opened.page.goto(server.url + "/" + name)
        opened.page.reload()
        expect(opened["#stream-h"]).to_have_text("fleet")
    opened.check()


def test_private_sketches_and_local_reports_are_marked_and_kept_apart(program, server, browser):
    stream(program, server, feature="one-bit")
    push(program, server, "2026-11-10", seed=2)
    push(program, server, "2026-11-11", "--local-epsilon", 2, seed=3)
    program("sketch", "pilot.csv", "--spec", "fleet.json", "-o", "plain.sketch", "-q")
    program("privatize", "plain.sketch", "-o", "private.sketch", "--epsilon", 5)
    inspected = program.json("inspect", "private.sketch")
    headers = {
        "idempotency-key": "release",
        "compressive-fingerprint": inspected["fingerprint"],
        "content-type": SKETCH,
    }
    body = (program.cwd / "private.sketch").read_bytes()
    assert server.ask("POST", "/v1/streams/fleet/batches?bucket=2026-11-10", body, headers)[0] == 200
    opened = Opened(browser, server)
    expect(opened["#promises .promise"]).to_have_count(2)
    promises = sorted(opened["#promises .promise"].all_inner_texts())
    assert "1 private sketch" in promises[0] and "Local reports" in promises[1], promises
    assert "epsilon 5, delta 0" in promises[0] and "discrete Laplace" in promises[0]
    assert "whether any one row is in the table" in promises[0] and "carries noise" in promises[0]
    assert "epsilon 2, delta 0" in promises[1] and "randomised response" in promises[1] and "4,000" in promises[1]
    # Exact rows are those of the plain push alone, and every picture says which it shows.
    expect(opened["#stream-facts"]).to_contain_text("4,000 in exact sums")
    expect(opened["#stream-facts"]).to_contain_text("not added to these")
    assert opened["#rows-svg rect.exact"].count() == 1 and opened["#rows-svg rect.private"].count() == 2
    expect(opened["#rows-caption"]).to_contain_text("not in the exact sums")
    opened.learn("kmeans", 3)
    expect(opened["#model-say"]).to_contain_text("4,000 rows of 2026-11-10, exact sums")
    opened["#kind"].select_option("private")
    opened["#fit button"].click()
    expect(opened["#model-say"]).to_contain_text("private sketches and local reports, with the noise", timeout=SLOW)
    opened.check()


def test_the_keyboard_reaches_every_control_and_stays_there_while_the_page_changes(program, server, browser):
    week(program, server, (0, 0))
    stream(program, server, name="other")
    opened = Opened(browser, server, 390)
    expect(opened["#streams-table tbody tr"]).to_have_count(2)
    opened.learn("kmeans", 3)
    reached = []
    for _ in range(40):
        opened.page.keyboard.press("Tab")
        reached.append(opened.page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    reached = reached[reached.index("fleet") :]
    wanted = ["fleet", "other", "range", "The buckets as a table", "task", "k", "slice", "Learn", "auto", "axis-x"]
    wanted += ["axis-y", "The components as a table"]
    assert [name for name in reached if name in wanted][: len(wanted)] == wanted, reached
    # Rows that come while a control has the focus do not take it away.
    opened["#streams-table button"].first.focus()
    push(program, server, "2026-11-12", seed=30)
    expect(opened["#stream-facts"]).to_contain_text("12,000 in exact sums", timeout=SLOW)
    assert opened.page.evaluate("document.activeElement.textContent") == "fleet"
    opened.page.keyboard.press("Tab")
    opened.page.keyboard.press("Enter")
    expect(opened["#stream-h"]).to_have_text("other")
    expect(opened["#waiting"]).to_be_visible()
    assert opened.page.url.endswith("#other") and opened["#model"].is_hidden()
    opened.check()


def test_a_server_that_is_gone_is_said_to_be_gone(program, tmp_path, browser):
    server = Server(tmp_path / "data")
    week(program, server, (0, 0))
    opened = Opened(browser, server)
    expect(opened["#stream-facts"]).to_contain_text("8,000 in exact sums")
    server.kill()
    expect(opened["#state"]).to_have_text("server in trouble", timeout=SLOW)
    expect(opened["#say"]).to_contain_text("the server cannot be reached")
    expect(opened["#stream-facts"]).to_contain_text("8,000 in exact sums")
    server.start()
    expect(opened["#state"]).to_have_text("server ok", timeout=SLOW)
    server.kill()


def test_the_files_of_the_page_carry_a_strict_policy(server):
    import urllib.request

    for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
        with urllib.request.urlopen(server.url + path) as answer:
            policy = answer.headers["content-security-policy"]
            assert answer.headers.get_content_type() == kind
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy


def shots(folder):
    """Screenshots for the guide: ten days of three clusters, of which one moves, and a local part; wide and narrow."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    program, server = Program(folder), Server(folder / "data")
    stream(program, server, feature="one-bit")
    stream(program, server, name="greenhouse", feature="one-bit")
    for day in range(10):
        shift, rows = (1.5 if day >= 7 else 0), 3000 + 700 * (day % 4)
        push(program, server, f"2026-11-{day + 10}", seed=day, shift=shift, rows=rows)
    push(program, server, "2026-11-18", "--local-epsilon", 2, seed=50, rows=2000)
    push(program, server, "2026-11-19", "--local-epsilon", 2, seed=51, rows=2500)
    push(program, server, "2026-11-19", name="greenhouse", seed=52, rows=1200)
    target = ROOT / "docs" / "images"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for width, dark in ((1280, False), (390, True)):
            opened = Opened(chromium, server, width, dark)
            expect(opened["#rows-svg rect.exact"]).to_have_count(10)
            opened.learn("gmm", 3)
            opened.page.evaluate("document.activeElement.blur()")
            path = target / f"collector-{width}.png"
            opened.page.screenshot(path=path, full_page=True)
            # A third of the size, and no channel of any pixel is off by more than 10 of 255.
            whole, method = Image.open(path).convert("RGB"), Image.Quantize.MAXCOVERAGE
            few = whole.quantize(256, method=method, dither=Image.Dither.NONE)
            shift = np.asarray(few.convert("RGB"), dtype=int) - np.asarray(whole, dtype=int)
            assert np.abs(shift).max() <= 10
            few.save(path, optimize=True)
        chromium.close()
    server.kill()


if __name__ == "__main__":
    import tempfile

    sys.path.insert(0, str(ROOT / "tests"))
    with tempfile.TemporaryDirectory() as place:
        shots(pathlib.Path(place))
