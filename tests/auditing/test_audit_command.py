"""`sfumato audit` from the outside, and its page in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from sfumato.cli.audit import audit
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releasing import release


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("release") / "iris"
    release("iris", Plan.propose("iris", noise="gaussian", privacy=0.4, name="iris"), where, key=SecretKey(bytes(32)))
    return where


@pytest.fixture(scope="module")
def pages(folder, tmp_path_factory):
    where = tmp_path_factory.mktemp("pages")
    arguments = ["iris", str(folder), "-o", str(where / "owner.html"), "--public", str(where / "public.html"), "--json"]
    result = CliRunner().invoke(audit, [*arguments, "--targets", "60"], catch_exceptions=False)
    return where, result


def test_the_command_prints_one_json_document_and_writes_both_editions(pages):
    where, result = pages
    assert result.exit_code == 0
    about = json.loads(result.stdout)
    assert about["edition"] == "owner"
    assert {a["name"] for a in about["attacks"]} >= {"posterior", "bayes", "likelihood-linkage", "inference"}
    assert (where / "owner.html").exists()
    assert (where / "public.html").exists()
    assert "wrote the owner edition" in result.stderr


def test_an_existing_report_is_refused_before_the_work(folder, pages):
    from sfumato.errors import OutputError

    where, _ = pages
    with pytest.raises(OutputError, match="force=True"):
        CliRunner().invoke(audit, ["iris", str(folder), "-o", str(where / "owner.html")], catch_exceptions=False)


def test_an_ending_that_is_no_report_is_refused(folder, tmp_path):
    from sfumato.errors import UsageError

    with pytest.raises(UsageError, match=r"use \.html or \.json"):
        CliRunner().invoke(audit, ["iris", str(folder), "-o", str(tmp_path / "r.txt")], catch_exceptions=False)


def test_the_report_as_json_is_what_the_page_is_made_from(folder, tmp_path):
    file = tmp_path / "report.json"
    result = CliRunner().invoke(
        audit, ["iris", str(folder), "-o", str(file), "--targets", "60"], catch_exceptions=False
    )
    assert result.exit_code == 0
    about = json.loads(file.read_text())
    from sfumato.report.audit_page import audit_page

    assert "Promised, and left" in audit_page(about)


@pytest.mark.parametrize("edition", ["owner", "public"])
def test_a_page_is_self_contained_and_well_formed(pages, edition):
    text = (pages[0] / f"{edition}.html").read_text("utf-8")
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", text)
    assert "<script" not in text
    assert text.count("<svg") == text.count("</svg>") >= 2
    for tag in ("div", "table", "details", "section", "g"):
        assert len(re.findall(rf"<{tag}[ >]", text)) == text.count(f"</{tag}>"), tag
    assert "NaN" not in text
    assert "prefers-color-scheme:dark" in text


@pytest.mark.parametrize("edition", ["owner", "public"])
def test_the_page_opens_in_a_browser_without_a_console_message(pages, edition, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium is installed (apt-get install chromium)")
    page = pages[0] / f"{edition}.html"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    run = subprocess.run(
        [browser, *options, f"--user-data-dir={tmp_path}", "--enable-logging=stderr", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in run.stderr
    assert "Promised, and left" in run.stdout
    assert run.stdout.count("<svg") >= 2
