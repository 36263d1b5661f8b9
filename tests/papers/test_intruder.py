"""The intruder's belief p(X → Y): by hand, and where noise protects nothing."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.owned_tables import category, number, table

from sfumato.errors import UsageError
from sfumato.guided.tree.owner_tree import Leaves
from sfumato.guided.tree.value_noise import ValueNoise, add_noise, cells_to_perturb
from sfumato.papers.parties import intrude
from sfumato.randomness import SecretKey, Stream
from sfumato.schema import Kind
from sfumato.trees.grow.c45 import c45


def stream(key=0):
    return Stream(SecretKey(bytes([key]) * 32))


def test_without_noise_the_belief_is_shared_by_those_who_look_alike():
    owned = table([category("a", [0, 0, 0, 1], "uv"), category("b", [0, 0, 1, 1], "uv")], [0, 1, 1, 1])
    leaves = Leaves.of(c45(owned), owned)
    found = intrude(owned, owned, leaves, {}, ValueNoise(), ["a"])
    np.testing.assert_allclose(found.p_true, [1 / 3, 1 / 3, 1 / 3, 1])
    np.testing.assert_allclose(found.effective_set, [3, 3, 3, 1])
    np.testing.assert_allclose(found.class_certainty, [1 / 3, 2 / 3, 2 / 3, 1])
    np.testing.assert_allclose(found.picked, [1 / 3, 1 / 3, 1 / 3, 1])
    both = intrude(owned, owned, leaves, {}, ValueNoise(), ["a", "b"], targets=np.array([0, 2]))
    np.testing.assert_allclose(both.p_true, [1 / 2, 1])
    assert len(both.p_true) == 2


def test_with_noise_the_belief_is_the_product_of_the_chances():
    x = np.array([1.0, 2.0, 9.0])
    owned = table([number("x", x, Kind.INTEGER, domain=(0, 10)), number("k", [1.0] * 3, domain=(1, 1))], [0, 1, 0])
    released = owned.with_values({"x": np.array([2.0, 2.0, 8.0])})
    leaves = Leaves.of(c45(owned), owned)
    noise = ValueNoise("additive", 0.5)
    cells = {"x": np.array([True, True, True])}
    found = intrude(owned, released, leaves, cells, noise, ["x", "k"])
    from sfumato.guided.tree.value_noise import Room

    room = Room(np.zeros(3), np.full(3, 10.0), 1.0)
    chances = noise.chances(x, np.array([2.0, 2.0, 8.0]), float(x.std()), room)
    np.testing.assert_allclose(found.p_true, np.diag(chances / chances.sum(axis=1, keepdims=True)))
    part = intrude(owned, released, leaves, {"x": np.array([True, False, True])}, noise, ["x"])
    # The second record's cell is taken as unperturbed: it fits nobody but a true 2.
    assert part.p_true[0] == pytest.approx(chances[0, 0] / (chances[0, 0] + chances[0, 2]))


def test_percentages_on_continuous_columns_find_everybody_and_additive_noise_does_not():
    rng = np.random.default_rng(4)
    y = np.arange(80) % 2
    columns = [number("sign", y + 0.05 * rng.normal(size=80))]
    columns += [number(f"x{i}", rng.uniform(1, 2, 80)) for i in range(3)]
    owned = table(columns, y)
    leaves = Leaves.of(c45(owned), owned)
    cells = cells_to_perturb(owned, leaves)
    assert set(cells) == {"x0", "x1", "x2"}
    found = {}
    for kind in ("percent", "additive"):
        noise = ValueNoise(kind, 0.276)
        released = owned.with_values(add_noise(owned, leaves, cells, noise, stream()))
        found[kind] = intrude(owned, released, leaves, cells, noise, sorted(cells))
    assert found["percent"].p_true.mean() == pytest.approx(1.0)
    assert found["additive"].p_true.mean() < 0.7
    assert found["additive"].effective_set.mean() > 1.5
    assert found["additive"].matched.all()


def test_knowing_nothing_is_refused():
    owned = table([category("a", [0, 1], "uv")], [0, 1])
    with pytest.raises(UsageError, match="knows nothing"):
        intrude(owned, owned, Leaves.of(c45(owned), owned), {}, ValueNoise(), [])
