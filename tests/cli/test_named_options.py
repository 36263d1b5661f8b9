"""The library names parameters in its messages; the command line shows the options that set them."""

import ast

import pytest
from tests.support.source import TREES, place

from sfumato.cli.output import name_options


@pytest.mark.parametrize(
    ("verb", "words", "shown"),
    [
        ("release", "replace it with force=True", "replace it with --force"),
        ("plan", "name another for target= or identifier=", "name another for --target or --id"),
        (
            "release",
            "its parameters are given by options=; leave noise= out",
            "its parameters are given by --set; leave --noise out",
        ),
        ("release", "run it with engine=Local(). By counts", "run it with --engine local. By counts"),
        ("release", "leave keys_on_workers=True out", "leave --key-on-workers out"),
        ("predict", "name its encoding (encoding=utf-16)", "name its encoding (--encoding utf-16)"),
        ("tradeoff", "sweep['privacy']: gaussian takes sweep['epsilon']", "--levels: gaussian takes --epsilons"),
        ("tradeoff", "repeats=0 must lie between 1 and 1,000", "--repeats 0 must lie between 1 and 1,000"),
        ("mine", "release the table with target=COLUMN", "release the table with --target COLUMN"),
        (
            "audit",
            "release it with method=correlated-gaussian, and",
            "release it with --method correlated-gaussian, and",
        ),
        ("audit", "by others=, or by key= as the ledger", "by --also, or by --key as the ledger"),
        ("release", 'set consent = "true", or small=keep', 'set consent = "true", or small=keep'),
        ("release", "choose small=suppress (or keep)", "choose small=suppress (or keep)"),
    ],
)
def test_parameters_are_shown_as_options(verb: str, words: str, shown: str) -> None:
    assert name_options(words, verb) == shown


def test_the_library_never_mentions_an_option() -> None:
    spoken = []
    for module, tree in TREES.items():
        if module.startswith("sfumato.cli"):
            continue
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and " --" in f" {node.value}".replace("\n", " ")
            ):
                words = [
                    w
                    for w in node.value.split()
                    if w.startswith("--") and w[2:3].isalpha() and "{" not in w and ":" not in w
                ]
                spoken += [f"{place(module, node.lineno)} {w}" for w in words]
    assert not spoken
