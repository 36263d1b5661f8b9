"""One door: a verb of the command line is a function of the package, and an engine is never None."""

from __future__ import annotations

import ast
import inspect

import click
import pytest
from tests.support.source import TREES, functions

import sfumato as sf
from sfumato.cli.app import VERBS, load_verb

FUNCTIONS = [verb.replace("-", "_") for verb in VERBS]
SHARED = {"app", "options", "output"}
"""Modules of the command line that belong to no single verb."""


def test_every_verb_has_a_file_and_every_file_a_verb() -> None:
    files = {name.rpartition(".")[2] for name in TREES if name.startswith("sfumato.cli.")}
    assert files - SHARED == set(FUNCTIONS)


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_every_verb_is_a_function_of_the_package(verb: str) -> None:
    assert inspect.isfunction(getattr(sf, verb))
    assert verb in sf.PUBLIC


def called(tree: ast.Module) -> list[str]:
    """Every name of the package that a module calls."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [c.attr for c in calls if isinstance(c, ast.Attribute) and ast.unparse(c.value) == "sf"]


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_a_verb_calls_its_own_function_and_no_other(verb: str) -> None:
    assert called(TREES[f"sfumato.cli.{verb}"]) == [verb]


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_a_verb_parses_and_shows_and_leaves_the_rest_to_the_library(verb: str) -> None:
    """It imports the package, what commands share, and words; no room."""
    allowed = ("sfumato", "sfumato.cli", "sfumato.text", "sfumato.findings")
    for node in ast.walk(TREES[f"sfumato.cli.{verb}"]):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sfumato"):
            assert node.module in allowed or node.module.startswith("sfumato.cli."), node.module


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_an_option_is_called_as_the_parameter_it_sets(verb: str) -> None:
    """So that a message of the library, which names parameters, can be shown with the options of the command."""
    here = {
        "as_json",
        "output",
        "force",
        "public",
        "summary",
        "master",
        "workers",
        "plot",
        "draw",
        "export",
        "keys_on_workers",
        "plans",
    }
    known = (
        set(inspect.signature(getattr(sf, verb)).parameters)
        | here
        | {"method", "kernel", "bins", "function", "balanced"}
    )
    given = {p.name for p in load_verb(verb).params if isinstance(p, click.Option)}
    if "encoding" in given:  # how the table is read is a matter of the one function that opens it
        known |= set(inspect.signature(sf.open_table).parameters)
    stray = {n for n in given if n not in known and not str(n).startswith("sweep_")}
    assert stray <= ({"engine", "master"} if verb == "describe" else set())


def test_an_engine_is_never_none() -> None:
    wrong = []
    for module, node in functions():
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        kinds = [ast.unparse(a.annotation) for a in arguments if a.annotation is not None]
        wrong += [f"{module}.{node.name}" for kind in kinds if kind == "Engine | None"]
    assert not wrong
    for verb in FUNCTIONS:
        engine = inspect.signature(getattr(sf, verb)).parameters.get("engine")
        assert engine is None or engine.default == sf.engines.Local(), verb


def test_one_function_makes_a_release() -> None:
    """Whoever writes a manifest makes a release."""
    writers = [
        f"{module}.{node.name}"
        for module, node in functions()
        if any(isinstance(n, ast.Constant) and n.value == "manifest.json" for n in ast.walk(node))
        and any(isinstance(n, ast.Name) and n.id == "write_file" for n in ast.walk(node))
    ]
    assert writers == ["sfumato.releasing.drafts.write_statement"]
    makers = [f"{m}.{n.name}" for m, n in functions() if n.returns is not None and ast.unparse(n.returns) == "Release"]
    assert [m for m in makers if m.startswith("sfumato.releasing")] == [
        "sfumato.releasing.door.release",
        "sfumato.releasing.drafts.publish",
    ]


def test_one_registry_of_strategies() -> None:
    homes = [
        module
        for module, tree in TREES.items()
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and any(
            isinstance(n, ast.Name) and n.id == "STRATEGIES" and isinstance(n.ctx, ast.Store) for n in ast.walk(node)
        )
    ]
    assert homes == ["sfumato.trees.strategies.base"]


def test_a_strategy_by_rows_or_by_counts_is_chosen_by_the_engine(tmp_path) -> None:
    release = sf.release("iris", sf.plan("iris", privacy=0.25), tmp_path / "r")
    rows, counts = sf.engines.Local(), sf.engines.Local(gathers=False)
    unsaid, by_rows = sf.mine(release), sf.mine(release, engine=rows)
    assert unsaid.strategy == by_rows.strategy == "auto"
    assert unsaid.body.to_dict() == by_rows.body.to_dict()
    assert sf.mine(release, engine=counts).strategy == "byclass"
    assert sf.mine(release, "byclass", counts).body.to_dict() == sf.mine(release, "byclass").body.to_dict()


def test_a_path_serves_as_well_as_an_open_object(tmp_path) -> None:
    folder, file = tmp_path / "r", tmp_path / "plan.toml"
    file.write_text(sf.plan("iris").to_toml())
    release = sf.release("iris", str(file), str(folder))
    model = sf.mine(str(folder), "byclass")
    model.save(tmp_path / "model.json")
    assert model.body.to_dict() == sf.mine(release, "byclass").body.to_dict()
    assert sf.describe(str(folder)) == sf.describe(release)
    assert sf.cluster(str(folder), 3) == sf.cluster(release, 3)
    assert sf.reconstruct(str(folder)).to_dict() == sf.reconstruct(release).to_dict()
    assert sf.evaluate(str(tmp_path / "model.json"), "iris") == sf.evaluate(model, "iris")
    assert sf.predict(tmp_path / "model.json", "iris").equals(sf.predict(model, "iris"))
    column = release.read_table()["petal_width"]
    assert sf.reconstruct(column).mass.tolist() == sf.reconstruct(release)["petal_width"].overall.mass.tolist()
