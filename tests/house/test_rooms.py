"""Rooms: few files each, a face that explains them, and no door but the face."""

from __future__ import annotations

import ast
import configparser
from collections import Counter

import pytest
from tests.support.source import FACE, MODULES, ROOMS, ROOT, SOURCE, TREES, importers, imports, place

MOST_FILES = 15
SMALL = 60
ARGUED: dict[str, str] = {}
"""Small modules with one importer that stand by themselves, and why."""
BESIDE_ROOMS = {"benchmarks", "browser", "contracts", "docs", "frozen", "house", "spark", "support"}
"""Folders of tests that belong to no single room."""


def test_a_room_holds_at_most_fifteen_files() -> None:
    """The command line has one file per verb."""
    sizes = {room: len([p for p in MODULES[room].parent.glob("*.py") if p.stem != FACE]) for room in ROOMS}
    sizes.pop("sfumato.cli")
    assert not [f"{room} holds {size} files" for room, size in sizes.items() if size > MOST_FILES]


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_the_face_of_a_room_explains_it(room: str) -> None:
    explanation = ast.get_docstring(TREES[room])
    assert explanation
    assert len(explanation.split()) >= 8, f"{room}: {explanation!r} explains nothing"
    assert len(explanation.splitlines()) <= 20


def outermost_room(module: str, user: str) -> str | None:
    """The largest room around `module` that `user` is not in; None where they share every room."""
    room = module if module in ROOMS else module.rpartition(".")[0]
    parts = room.split(".")
    for end in range(2, len(parts) + 1):
        outer = ".".join(parts[:end])
        if user != outer and not user.startswith(f"{outer}."):
            return outer
    return None


def test_other_rooms_come_in_by_the_face() -> None:
    deep = []
    for user in sorted(set(MODULES) - {"sfumato"}):
        for module, line in imports(user):
            room = outermost_room(module, user)
            if room is not None and module != room and not public_module(room, module):
                deep.append(f"{place(user, line)} imports {module}; import it from {room}")
    assert not deep


def public_module(room: str, module: str) -> bool:
    """Whether a face offers something by the name of the module: `charts` of `report`, the function `kmeans`."""
    parent, _, name = module.rpartition(".")
    offered = {a.name for node in TREES[room].body if isinstance(node, ast.ImportFrom) for a in node.names}
    return parent == room and name in offered


def test_every_layer_is_named_for_the_import_linter() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    contract = config["importlinter:contract:layers"]
    assert contract["exhaustive"] == "True"
    named = {word for line in contract["layers"].split("\n") for word in line.replace("|", " ").split()}
    there = {
        p.stem if p.is_file() else p.name for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    assert named == there - {FACE}


def test_every_module_has_a_name_of_its_own() -> None:
    stems = Counter(path.stem for path in MODULES.values())
    assert not [stem for stem, times in stems.items() if times > 1 and stem not in (FACE, "base")]


def test_a_small_module_serves_more_than_one_other() -> None:
    users = importers()
    alone = []
    for name, path in MODULES.items():
        lines = len(path.read_text("utf-8").splitlines())
        if path.stem in (FACE, "__main__") or lines >= SMALL or name in ARGUED:
            continue
        inside = users[name] - ROOMS
        if len(inside) == 1 and not users[name] & ROOMS:
            alone.append(f"{name} ({lines} lines) serves {inside.pop()} alone")
    assert not alone


def test_what_is_argued_for_exists() -> None:
    assert set(ARGUED) <= set(MODULES)


def test_tests_mirror_the_rooms() -> None:
    folders = {p.name for p in (ROOT / "tests").iterdir() if p.is_dir() and any(p.glob("*.py"))}
    rooms = {p.stem if p.is_file() else p.name for p in SOURCE.iterdir() if not p.name.startswith("_")}
    assert folders <= rooms | BESIDE_ROOMS
    packages = {p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists()}
    assert not packages - folders
