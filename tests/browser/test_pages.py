"""Every page that the product writes, in a real browser: no axe violation, nothing clipped, readable narrow, dark and on paper.

`make test-browser` brings what is needed, but for Chromium itself.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.randomness import SecretKey

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; run make test-browser")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed; run make test-browser")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")]

PAGES = ("audit", "public audit", "audit of a guided release", "trade-off", "demonstration")
SCREENS = {
    "telephone": (390, 844, "light"),
    "telephone, dark": (390, 844, "dark"),
    "desk": (1280, 900, "light"),
    "desk, dark": (1280, 900, "dark"),
}
CLIPPED = """() => [...document.querySelectorAll("svg text")].filter(text => {
  const words = text.getBoundingClientRect(), chart = text.closest("svg").getBoundingClientRect();
  return words.width && (words.left < chart.left - 1 || words.right > chart.right + 1 || words.bottom > chart.bottom + 1);
}).map(text => text.textContent)"""
SMALL = """() => [...document.querySelectorAll("svg text")].filter(text => {
  const chart = text.closest("svg"), shown = chart.getBoundingClientRect();
  return shown.width && parseFloat(getComputedStyle(text).fontSize) * shown.width / chart.viewBox.baseVal.width < 9;
}).map(text => text.textContent)"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """One page of each kind, in a folder."""
    folder = tmp_path_factory.mktemp("pages")
    key = SecretKey(bytes(32))
    out = {name: folder / f"{name}.html" for name in PAGES}
    blurred = sf.release(
        "german_credit", sf.plan("german_credit", noise="gaussian", privacy=1.0), folder / "r", key=key
    )
    audit = sf.audit("german_credit", blurred, key=key, targets=60)
    out["audit"].write_text(audit.html())
    out["public audit"].write_text(audit.html("public"))
    guided = sf.release("iris", sf.plan("iris", method="leaf-swap", options={"least": 3}), folder / "g", key=key)
    out["audit of a guided release"].write_text(sf.audit("iris", guided, key=key, targets=40).html())
    out["trade-off"].write_text(sf.tradeoff("iris").html())
    sf.demo(folder / "demo")
    out["demonstration"].write_text((folder / "demo" / "report.html").read_text())
    return out


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(params=SCREENS)
def screen(request, browser):
    width, height, scheme = SCREENS[request.param]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_and_no_chart_is_clipped(name, pages, screen):
    screen.goto(pages[name].as_uri())
    screen.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    violations = axe.Axe().run(screen).response["violations"]
    assert [(v["id"], v["nodes"][0]["target"]) for v in violations] == []
    assert screen.evaluate("document.documentElement.scrollWidth") <= screen.viewport_size["width"]
    assert screen.evaluate(CLIPPED) == []
    assert screen.evaluate(SMALL) == []


@pytest.mark.parametrize("name", PAGES[:3])
def test_an_audit_is_read_by_keyboard_alone(name, pages, browser):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(pages[name].as_uri())
    reached = []
    for _ in range(200):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("[document.activeElement.tagName, document.activeElement.className]"))
        if reached[-1][0] == "BODY":
            break
    tags = [tag for tag, _ in reached]
    assert reached[-1][0] == "BODY"
    for selector, tag in (("nav a", "A"), ("summary", "SUMMARY"), ("input", "INPUT")):
        assert tags.count(tag) >= page.locator(selector).count(), selector
    assert sum(kind == "scroll" for _, kind in reached) == page.locator(".scroll:visible").count()
    page.locator("summary").first.focus()
    was = page.evaluate("document.querySelector('details').open")
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('details').open") != was
    page.close()


@pytest.mark.parametrize("name", PAGES[:3])
def test_what_an_officer_types_is_printed_and_nothing_hides_on_paper(name, pages, browser, tmp_path):
    page = browser.new_page(viewport={"width": 680, "height": 960})
    page.goto(pages[name].as_uri())
    page.emulate_media(media="print")
    page.get_by_label("Purpose and legal basis of the release").fill("Public interest")
    assert page.get_by_label("Purpose and legal basis of the release").input_value() == "Public interest"
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    assert page.locator("nav").is_visible() is False
    assert page.locator(".narrow:visible").count() == 0
    assert page.evaluate(
        "[...document.querySelectorAll('details table')].every(table => table.getBoundingClientRect().height > 0)"
    )
    printed = page.pdf(path=str(tmp_path / "page.pdf"), format="A4")
    assert printed.startswith(b"%PDF")
    page.close()
