"""Linkage and inference against naive twins, hand-worked posteriors and controls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.attacks import (
    Assignment,
    LeafClass,
    LikelihoodInference,
    LikelihoodLinkage,
    Linkability,
    NearestInference,
    NearestLinkage,
    Targets,
    View,
)
from sfumato.attacks._likelihood import Likelihood
from sfumato.attacks.linkage import meeting_chance
from sfumato.auditing.case import Case
from sfumato.auditing.trial import try_attack
from sfumato.channels import Gaussian, Substitution
from sfumato.errors import UsageError
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind, Role
from sfumato.table import Column

KEY = SecretKey(bytes(range(32)))
LABELS = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def mixed():
    """A number and two labels, one of them released as true, with missing values."""
    rng = np.random.default_rng(1)
    n = 300
    truth = {
        "x": rng.normal(50, 12, n).clip(0, 100),
        "c": rng.integers(0, 4, n).astype(float),
        "k": rng.integers(0, 3, n).astype(float),
    }
    truth["x"][::11] = np.nan
    attributes = {
        "x": Attribute("x", Kind.REAL, Interval(0, 100)),
        "c": Attribute("c", Kind.CATEGORICAL, Categories(LABELS)),
        "k": Attribute("k", Kind.CATEGORICAL, Categories(LABELS[:3])),
    }
    gaussian, swap = Gaussian(sigma=4.0).on(attributes["x"]), Substitution(gamma=8.0).on(attributes["c"])
    x = truth["x"].copy()
    there = ~np.isnan(x)
    x[there] = gaussian.perturb(KEY.derive("x"), Rows(0, n).take(there), x[there])
    c = swap.perturb(KEY.derive("c"), Rows(0, n), truth["c"])
    columns = (
        Column(attributes["x"], gaussian, x),
        Column(attributes["c"], swap, c),
        Column(attributes["k"], None, truth["k"]),
    )
    return View(columns), truth


def naive_weights(view, truth, row, ratio=True):
    """P(row' | record) ∝ P(y | x)/P(y), or P(y | x) alone, by writing the product out, cell kernels and all."""
    out = np.ones(view.rows)
    for column in view.columns:
        value, released = truth[column.name][row], column.values
        if np.isnan(value):
            factor = np.where(np.isnan(released), 1.0, np.exp(-60))
        elif column.channel is None:
            factor = np.where(released == value, 1.0, np.exp(-60))
        else:
            belief = view.beliefs[column.name]
            p = belief.grid.locate(np.array([value]))[0]
            factor = np.full(view.rows, np.exp(-60))
            there = belief.codes >= 0
            factor[there] = np.maximum(belief.kernel.dense()[belief.codes[there], p], np.exp(-60))
            if ratio:
                factor[there] /= (belief.kernel.dense() @ belief.prior)[belief.codes[there]]
        out *= factor
    return out


def test_likelihood_linkage_is_the_product_of_the_laws_over_that_of_the_evidence(mixed):
    view, truth = mixed
    rows = np.arange(0, 300, 7)
    links = LikelihoodLinkage(Targets({n: v[rows] for n, v in truth.items()})).run(view)
    for i, row in enumerate(rows):
        weights = naive_weights(view, truth, row)
        shares = weights / weights.sum()
        assert links.probability(rows)[i] == pytest.approx(shares[row], rel=1e-3, abs=1e-12)
        entropy = -np.sum(shares[shares > 0] * np.log(shares[shares > 0]))
        assert links.effective[i] == pytest.approx(np.exp(entropy), rel=1e-2)
        best = weights >= weights.max() * (1 - 1e-4)
        assert links.credit(rows)[i] == pytest.approx(best[row] / best.sum(), abs=1e-6)


def test_dividing_by_the_evidence_finds_more_people_than_the_likelihood_alone():
    """Most people are alike, so a row like theirs is likely for everybody; a rare row tells more."""
    rng = np.random.default_rng(4)
    n, attribute = 2000, Attribute("x", Kind.REAL, Interval(0, 100))
    truth = {f"x{i}": rng.exponential(8.0, n).clip(0, 100) for i in range(6)}
    law = Gaussian(sigma=10.0).on(attribute)
    view = View(
        tuple(
            Column(Attribute(name, Kind.REAL, Interval(0, 100)), law, law.perturb(KEY.derive(name), Rows(0, n), values))
            for name, values in truth.items()
        )
    )
    rows = np.arange(n)
    links = LikelihoodLinkage(Targets(truth)).run(view)
    plain = Likelihood.of(view, Targets(truth))
    alone = np.concatenate([plain.logs(part).argmax(axis=1) for part in plain.parts()]) == rows
    assert links.credit(rows).mean() > alone.mean() + 3 * np.sqrt(alone.mean() / n)


def test_a_release_of_distinct_true_rows_is_linked_completely_and_duplicates_share_the_credit():
    attribute = Attribute("x", Kind.REAL, Interval(0, 10))
    values = np.array([1.0, 2.0, 3.0, 3.0])
    view = View((Column(attribute, None, values),))
    links = LikelihoodLinkage(Targets({"x": values})).run(view)
    assert links.credit(np.arange(4)) == pytest.approx([1.0, 1.0, 0.5, 0.5])


def test_on_a_release_that_says_nothing_linkage_is_chance():
    attribute = Attribute("c", Kind.CATEGORICAL, Categories(LABELS))
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 4, 500).astype(float)
    channel = Substitution(gamma=1.0 + 1e-9).on(attribute)
    view = View((Column(attribute, channel, channel.perturb(KEY, Rows(0, 500), truth)),))
    links = LikelihoodLinkage(Targets({"c": truth})).run(view)
    assert links.probability(np.arange(500)) == pytest.approx(1 / 500, rel=1e-3)
    assert links.effective == pytest.approx(500, rel=1e-3)


def test_a_linkage_without_knowledge_is_refused(mixed):
    with pytest.raises(UsageError, match="knows no column"):
        LikelihoodLinkage(Targets({})).run(mixed[0])


def test_the_assignment_has_the_greatest_total_likelihood():
    rng = np.random.default_rng(3)
    attribute = Attribute("x", Kind.REAL, Interval(0, 100))
    truth = rng.uniform(0, 100, 7)
    channel = Gaussian(sigma=15.0).on(attribute)
    view = View((Column(attribute, channel, channel.perturb(KEY, Rows(0, 7), truth)),))
    targets = Targets({"x": truth})
    found = Assignment(targets).run(view)
    logs = LikelihoodLinkage(targets).run(view).likelihood.logs(slice(0, 7))
    best = max(itertools.permutations(range(7)), key=lambda order: sum(logs[i, j] for i, j in enumerate(order)))
    assert sum(logs[i, j] for i, j in enumerate(found)) == pytest.approx(sum(logs[i, j] for i, j in enumerate(best)))


def test_the_assignment_does_not_read_the_order_of_the_rows():
    attribute = Attribute("x", Kind.REAL, Interval(0, 10))
    view = View((Column(attribute, None, np.full(200, 5.0)),))
    found = Assignment(Targets({"x": np.full(200, 5.0)})).run(view)
    assert np.mean(found == np.arange(200)) < 0.05


def naive_gower(view, truth, row, names):
    out = np.zeros(view.rows)
    for name in names:
        column, value = view[name], truth[name]
        if column.attribute.kind.numeric:
            both = np.concatenate([column.values, value])
            gap = np.abs(column.values - value[row]) / np.ptp(both[~np.isnan(both)])
            out += np.where(np.isnan(gap), 1.0 - (np.isnan(column.values) & np.isnan(value[row])), gap)
        else:
            out += column.values != value[row]
    return out


def test_the_nearest_row_is_nearest_by_gowers_distance(mixed):
    view, truth = mixed
    found = NearestLinkage(Targets(truth)).run(view)
    for row in range(0, 300, 13):
        distances = naive_gower(view, truth, row, ("x", "c", "k"))
        assert distances[found[row]] == pytest.approx(distances.min(), abs=1e-5)


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_ties_fall_by_chance_for_the_very_people_that_the_audit_chose(seed):
    """Four rows are alike each time, so a quarter of the people is found; their own rows must not come first among equals."""
    n = 2000
    true = {name: np.repeat(np.random.default_rng(7).integers(0, 50, n // 4), 4) * 1.0 for name in "ab"}
    true["a"] = np.repeat(np.arange(n // 4), 4) * 1.0
    columns = [Column(Attribute(m, Kind.INTEGER, Interval(0, 500)), None, v) for m, v in true.items()]
    case = Case.in_memory(View(tuple(columns)), true, targets=400, seed=seed)
    for kind in (NearestLinkage, LikelihoodLinkage):
        (finding,), _ = try_attack(kind, case)
        assert finding.success == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 400)), kind.name


def test_a_control_never_finds_the_row_that_was_struck(mixed):
    view, truth = mixed
    rows = np.arange(300)
    assert not (NearestLinkage(Targets(truth, without=rows)).run(view) == rows).any()
    links = LikelihoodLinkage(Targets(truth, without=rows)).run(view)
    assert np.isfinite(links.logsum).all()


def test_linkability_meets_in_the_row_itself_when_values_are_true_and_by_chance_when_they_are_noise():
    rng = np.random.default_rng(4)
    attributes = [Attribute(f"a{i}", Kind.REAL, Interval(0, 1)) for i in range(4)]
    truth = {a.name: rng.random(400) for a in attributes}
    clear = View(tuple(Column(a, None, truth[a.name]) for a in attributes))
    attack = Linkability(Targets(truth), ("a0", "a1"), ("a2", "a3"), 1)
    assert attack.run(clear).mean() == 1.0
    noise = View(tuple(Column(a, None, rng.random(400)) for a in attributes))
    rate = Linkability(Targets(truth), ("a0", "a1"), ("a2", "a3"), 20).run(noise).mean()
    assert rate == pytest.approx(meeting_chance(400, 20), abs=0.12)


def test_chance_of_two_sets_to_meet_by_hand():
    # Two pairs out of four meet unless the second is the rest: 1 − 1/6.
    assert meeting_chance(4, 2) == pytest.approx(5 / 6)
    assert meeting_chance(100, 1) == pytest.approx(0.01)
    assert meeting_chance(5, 3) == 1.0


def test_inference_is_the_weighted_sum_of_posteriors(mixed):
    view, truth = mixed
    rows = np.arange(0, 300, 29)
    known = {n: v[rows] for n, v in truth.items()}
    claim = LikelihoodInference(Targets(known), ("c", "x")).run(view)
    found = {r.attribute: r for r in claim.recoveries}
    belief = view.beliefs["c"]
    for i, row in enumerate(rows):
        others = View(tuple(c for c in view.columns if c.name != "c"))
        weights = naive_weights(others, truth, row, ratio=False)  # who resembles them, whoever it is
        posterior = (weights / weights.sum()) @ belief.posterior[belief.codes]
        assert found["c"].mean[i] == pytest.approx(posterior @ belief.grid.centres, abs=2e-3)
        assert found["c"].pick[i] == np.argmax(posterior)


@pytest.mark.parametrize("sigma", [0.5, 4.0, 15.0, 60.0])
@pytest.mark.parametrize("struck", [False, True])
def test_a_secret_taken_out_of_the_sum_over_all_columns_is_a_sum_without_it(sigma, struck):
    rng = np.random.default_rng(3)
    n = 200
    true = {name: rng.normal(50, 12, n).clip(0, 100).round() for name in "ab"} | {"c": rng.integers(0, 4, n) * 1.0}
    true["a"][::7], true["c"][::9] = np.nan, np.nan
    columns = []
    for name, values in true.items():
        number = name != "c"
        domain = Interval(0, 100) if number else Categories(LABELS)
        attribute = Attribute(name, Kind.INTEGER if number else Kind.CATEGORICAL, domain)
        law = Gaussian(sigma=sigma) if number else Substitution(gamma=3.0)
        columns.append(Column(attribute, None, values).through(law.on(attribute), KEY.derive(name)))
    view = View(tuple(columns))
    rows = np.flatnonzero(~np.isnan(true["a"]) & ~np.isnan(true["c"]))[:40]
    targets = Targets({name: values[rows] for name, values in true.items()}, rows if struck else None)
    claims = {r.attribute: r for r in LikelihoodInference(targets, ("a", "b", "c")).run(view).recoveries}
    for secret, recovery in claims.items():
        belief = view.beliefs[secret]
        others = Targets({name: v for name, v in targets.known.items() if name != secret}, targets.without)
        logs = Likelihood.of(view, others).logs(slice(0, len(rows))).astype(float)
        there = belief.codes >= 0
        weights = np.exp(logs[:, there] - logs[:, there].max(axis=1, keepdims=True))
        posterior = weights @ belief.posterior[belief.codes[there]] / weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(recovery.mean, posterior @ belief.grid.centres, atol=2e-3)


def test_a_secret_that_nothing_else_tells_is_inferred_from_the_own_row_only():
    rng = np.random.default_rng(5)
    x, secret = rng.random(2000), rng.integers(0, 4, 2000).astype(float)
    attributes = Attribute("x", Kind.REAL, Interval(0, 1)), Attribute("s", Kind.CATEGORICAL, Categories(LABELS))
    view = View((Column(attributes[0], None, x), Column(attributes[1], None, secret)))
    rows = np.arange(300)
    inside = LikelihoodInference(Targets({"x": x[rows]}), ("s",)).run(view)
    outside = LikelihoodInference(Targets({"x": x[rows]}, without=rows), ("s",)).run(view)
    assert np.mean(inside.recoveries[0].pick == secret[rows]) == 1.0
    assert np.mean(outside.recoveries[0].pick == secret[rows]) < 0.4


def test_the_nearest_rows_secret_is_taken_at_its_word(mixed):
    view, truth = mixed
    known = {n: truth[n] for n in ("x", "k")}
    rows = NearestLinkage(Targets(known), 3).run(view)
    claim = NearestInference(Targets(known), "c", 3).run(view)
    assert np.array_equal(claim.recoveries[0].pick, view["c"].values[rows])


def test_the_class_is_inferred_from_the_leaf_as_well_outside_the_release_as_inside():
    rng = np.random.default_rng(6)
    x = rng.uniform(0, 100, 3000)
    classes = ((x > 40) ^ (rng.random(3000) < 0.1)).astype(float)
    attribute = Attribute("x", Kind.REAL, Interval(0, 100))
    target = Attribute("class", Kind.CATEGORICAL, Categories(("no", "yes")), role=Role.TARGET)
    channel = Gaussian(sigma=8.0).on(attribute)
    columns = (Column(attribute, channel, channel.perturb(KEY, Rows(0, 3000), x)), Column(target, None, classes))
    view = View(columns, "class")
    rows = np.arange(600)
    for without in (None, rows):
        claim = LeafClass(Targets({"x": x[rows]}, without)).run(view)
        assert np.mean(claim.recoveries[0].pick == classes[rows]) == pytest.approx(0.9, abs=0.05)


def test_a_class_of_one_label_has_no_leaf_to_infer_from():
    attribute = Attribute("x", Kind.REAL, Interval(0, 1))
    target = Attribute("class", Kind.CATEGORICAL, Categories(("only",)), role=Role.TARGET)
    view = View((Column(attribute, None, np.linspace(0, 1, 50)), Column(target, None, np.zeros(50))), "class")
    assert LeafClass(Targets({"x": np.zeros(3)})).run(view).skipped


def test_rows_at_the_same_distance_win_by_chance_also_where_the_attacked_people_were_chosen_under_the_same_seed():
    """Ten rows of each label: the nearest row is the person's own one time in ten."""
    codes = np.repeat(np.arange(200), 10).astype(float)
    label = Attribute("label", Kind.CATEGORICAL, Categories(tuple(f"{i:03}" for i in range(200))))
    view = View((Column(label, None, codes),))
    shares = []
    for seed in range(5):
        people = np.random.default_rng(seed).permutation(len(codes))[:500]  # as an audit chooses them
        picks = NearestLinkage(Targets({"label": codes[people]}), seed=seed).run(view)
        shares.append((picks == people).mean())
    assert np.mean(shares) == pytest.approx(0.1, abs=0.03)  # 4.6 standard deviations; it was 0.4
