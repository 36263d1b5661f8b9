"""What a killed run left behind is swept away; what somebody still fills, here or on another machine, is not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sfumato.errors import OutputError
from sfumato.io import outputs
from sfumato.io.outputs import open_new_folder


def dead_process() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def begun(folder: Path, mark: str, age: float = 0.0) -> Path:
    """A folder that a run with this mark left, unchanged for `age` seconds."""
    left = folder / f".out.partial-{mark}"
    (left / "data.parquet").mkdir(parents=True)
    part = left / "data.parquet" / "part-0"
    part.write_text("rows")
    for path in (part, part.parent, left):
        os.utime(path, (time.time() - age, time.time() - age))
    return left


def fill(folder: Path) -> None:
    with open_new_folder(folder / "out") as hidden:
        (hidden / "manifest.json").write_text("{}")


@pytest.mark.parametrize(
    ("mark", "age", "kept"),
    [
        ("{here}-{dead}", 0, False),
        ("{here}-{alive}", 0, True),
        ("{here}-{alive}", 2 * outputs.STALE, True),
        ("0123456789ab-{dead}", 0, True),
        ("0123456789ab-{dead}", outputs.STALE / 2, True),
        ("0123456789ab-{dead}", 2 * outputs.STALE, False),
        ("{dead}", 0, True),  # a mark without a machine could be anybody's
        ("{dead}", 2 * outputs.STALE, False),
    ],
)
def test_a_left_over_is_judged_by_its_process_here_and_by_its_age_elsewhere(tmp_path, mark, age, kept):
    marks = {"here": outputs.machine_digest(), "dead": dead_process(), "alive": os.getppid()}
    left = begun(tmp_path, mark.format(**marks), age)
    fill(tmp_path)
    assert left.exists() == kept
    assert (tmp_path / "out").exists()


def test_a_file_that_still_grows_keeps_an_old_folder_of_another_machine(tmp_path):
    left = begun(tmp_path, f"0123456789ab-{dead_process()}", 2 * outputs.STALE)
    os.utime(left / "data.parquet" / "part-0")
    fill(tmp_path)
    assert left.exists()


def test_another_output_of_a_similar_name_is_not_swept(tmp_path):
    other = tmp_path / f".out[1].partial-{outputs.machine_digest()}-{dead_process()}"
    other.mkdir()
    fill(tmp_path)
    assert other.exists()
    with open_new_folder(tmp_path / "out[1]"):
        assert not other.exists()


def test_two_runs_of_one_process_do_not_take_each_others_folder(tmp_path):
    with open_new_folder(tmp_path / "out") as hidden:
        (hidden / "half").write_text("rows")
        with pytest.raises(OutputError, match="being written already"):
            fill(tmp_path)
        assert (hidden / "half").exists()
    assert (tmp_path / "out" / "half").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_the_mark_tells_machines_with_one_host_name_apart(monkeypatch):
    def mark(space: str) -> str:
        outputs.machine_digest.cache_clear()
        with monkeypatch.context() as patched:
            patched.setattr(outputs.platform, "node", lambda: "localhost")
            patched.setattr(Path, "readlink", lambda _: space)
            return outputs.machine_digest()

    first, again, other = mark("pid:[1]"), mark("pid:[1]"), mark("pid:[2]")
    outputs.machine_digest.cache_clear()
    assert first == again
    assert first != other
