"""A scale is a way to read and write a column: laws see places from 0 to 1, and everybody else the column's own unit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato.channels import CHANNELS, Channel
from sfumato.counts import FloatArray, snap
from sfumato.engines import Local
from sfumato.errors import CellError, LedgerError, UsageError
from sfumato.io import Decoder, Encoder, open_table, read_blocks
from sfumato.plans.proposal import rounded_outward
from sfumato.plans.tails import Sizes, propose_scale
from sfumato.randomness import Rows, SecretKey
from sfumato.reconstruction import reconstruct
from sfumato.reconstruction.moments import Weights
from sfumato.scales import SCALES, Asinh, Cbrt, Log, Quantile, Ruler, Scale, Sqrt
from sfumato.schema import Attribute, Consent, Interval, Kind
from sfumato.table import Column

KEY = SecretKey(bytes(range(32)))
EVERY = {
    "log": Log(1000.0),
    "log1p": Log(),
    "sqrt": Sqrt(),
    "cbrt": Cbrt(500.0),
    "asinh": Asinh(1000.0),
    "quantile": Quantile((0.0, 500.0, 2000.0, 10_000.0, 300_000.0)),
}
LAWS = [wish for law in CHANNELS.values() if law.numeric for wish in law.examples()]


def cost(scale: Scale | None, low: float = 0.0) -> Attribute:
    return Attribute("cost", Kind.REAL, Interval(low, 290_000), scale=scale)


def costs(rows: int = 4000) -> FloatArray:
    values = np.exp(np.random.default_rng(5).normal(8, 1, rows)).round(2).clip(0, 290_000)
    return np.append(np.where(np.arange(rows) % 5 == 0, 0.0, values)[:-1], 290_000.0)


def bills(rows: int = 4000) -> pa.Table:
    values = costs(rows)
    sick = np.random.default_rng(6).random(rows) < np.where(values > 3000, 0.9, 0.1)
    age = np.random.default_rng(7).integers(18, 90, rows)
    return pa.table({"cost": values, "age": age, "class": np.where(sick, "yes", "no")})


def plan_for(scale: object = None, noise: dict[str, Any] | None = None, **more: Any) -> sf.Plan:
    noise = noise or {"law": "gaussian", "privacy": 0.5}
    column = {"name": "cost", "kind": "real", "domain": [0, 290_000], "noise": noise} | more
    if scale is not None:
        column["scale"] = scale
    age = {"name": "age", "kind": "integer", "domain": [0, 120], "noise": {"law": "gaussian", "privacy": 0.5}}
    sick = {"name": "class", "kind": "categorical", "categories": ["no", "yes"], "role": "target", "consent": "true"}
    return sf.Plan.from_dict({"column": [column, age, sick]})


def test_every_scale_is_covered_here() -> None:
    assert {scale.name for scale in EVERY.values()} == set(SCALES)


@pytest.mark.parametrize("scale", EVERY.values(), ids=EVERY)
def test_a_scale_is_increasing_and_comes_back(scale: Scale) -> None:
    ruler = Ruler(scale, 0.0, 290_000.0)
    values = np.unique(np.concatenate([np.linspace(-500_000, 900_000, 2001), np.geomspace(1e-3, 290_000, 500)]))
    places = ruler.to_places(values)
    assert (np.diff(places) >= 0).all()
    assert ruler.to_places(np.array([0.0, 290_000.0])).tolist() == [0.0, 1.0]
    assert np.allclose(ruler.to_values(places), values, rtol=1e-8, atol=1e-6)
    assert Scale.from_dict(scale.to_dict()) == scale
    assert Scale.from_dict(json.loads(json.dumps(scale.to_dict()))) == scale


@pytest.mark.parametrize("wish", LAWS, ids=lambda w: f"{w.law}")
@pytest.mark.parametrize("scale", EVERY.values(), ids=EVERY)
def test_what_is_written_in_the_unit_is_read_back_to_the_same_place(scale: Scale, wish: Channel) -> None:
    attribute = cost(scale)
    law = wish.on(attribute)
    drawn = law.perturb(KEY, Rows(0, 20_000), np.random.default_rng(1).random(20_000))
    assert attribute.ruler is not None
    cells = Decoder(attribute, grid=law.step or 0.0)(drawn)
    anything = Attribute("cost", Kind.REAL, Interval(-1e300, 1e300))
    for written in (cells, cells.cast(pa.string())):
        read = Encoder(anything, ruler=attribute.ruler, grid=law.step or 0.0)(written)
        if law.step:
            assert np.array_equal(read, snap(drawn, law.step))
        else:
            assert np.abs(read - drawn).max() < 1e-8


def test_released_values_show_no_more_digits_than_tell_the_grid() -> None:
    attribute, law = cost(Log(1000.0)), sf.Gaussian(privacy=0.5).on(cost(Log(1000.0)))
    written = Decoder(attribute, grid=law.step or 0.0)(np.array([0.0, 0.5, 1.0, np.nan])).to_pylist()
    assert written[0] == 0.0
    assert written[2:] == [290_000.0, None]
    assert written[1] == round(written[1], 1) != round(written[1])


def test_two_formats_and_the_law_give_the_same_places(tmp_path: Path) -> None:
    plan = plan_for("log")
    tables = [
        sf.release(bills(), plan, tmp_path / form, key=KEY, format=form, block_rows=rows).read_table()
        for form, rows in (("csv", 700), ("parquet", 10_000))
    ]
    law = tables[0]["cost"].channel
    assert law is not None
    assert law.step
    places = tables[0]["cost"].values
    assert np.array_equal(places, tables[1]["cost"].values)
    assert np.array_equal(places, snap(places, law.step))


def test_a_manifest_states_the_scale_and_old_ones_have_none(tmp_path: Path) -> None:
    release = sf.release(bills(), plan_for({"name": "log", "unit": 100}), tmp_path / "r", key=KEY)
    stated = json.loads((tmp_path / "r/manifest.json").read_text("utf-8"))["attributes"]
    assert stated[0]["scale"] == {"name": "log", "unit": 100.0}
    assert stated[0]["domain"] == [0, 290_000]
    assert stated[0]["mechanism"]["low"] == 0.0
    assert stated[0]["mechanism"]["high"] == 1.0
    assert "scale" not in stated[1]
    assert "SF292" in [note["code"] for note in sf.describe(release)["findings"]]
    assert "log scale" in (tmp_path / "r/README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        ("square", "there is no scale"),
        ({"name": "log", "base": 2}, "no parameter base"),
        ({"name": "log", "unit": 0}, "positive"),
        ({"name": "log", "unit": "x"}, "not a number"),
        ({"name": "quantile", "values": [1]}, "reference values"),
        ({"name": "quantile", "values": [0, 5, 5, 9]}, "increase"),
        ({"name": "asinh", "unit": 1e200}, "cannot tell"),
        (7, "there is no scale"),
    ],
)
def test_a_wrong_scale_is_refused_with_its_column(scale: object, words: str) -> None:
    with pytest.raises(UsageError, match=words) as error:
        plan_for(scale)
    assert str(error.value).startswith("cost: ")


def test_a_scale_needs_real_numbers_noise_and_the_right_sign(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="use asinh"):
        cost(Log(), low=-5.0)
    with pytest.raises(UsageError, match='kind = "real"'):
        Attribute("n", Kind.INTEGER, Interval(0, 9), scale=Log())
    with pytest.raises(UsageError, match="released as true"):
        replace(cost(Log()), consent=Consent.TRUE)
    with pytest.raises(UsageError, match="a scale is for noise"):
        sf.Plan.from_dict(plan_for("log").to_dict() | {"release": {"method": {"law": "leaf-swap"}}})
    with pytest.raises(UsageError, match="cannot be written in its unit"):
        sf.release(bills(), plan_for("log", {"law": "gaussian", "privacy": 30.0}), tmp_path / "r", key=KEY)


def test_values_beyond_the_ends_are_clipped_counted_and_said(tmp_path: Path) -> None:
    table = pa.table(
        {"cost": [5.0, 500_000.0, -3.0, None, 290_000.0] * 40, "age": [30] * 200, "class": ["no", "yes"] * 100}
    )
    with pytest.raises(CellError, match="outside"):
        sf.release(table, plan_for("sqrt"), tmp_path / "a", key=KEY)
    for scale in ("sqrt", None):
        made = sf.release(table, plan_for(scale, clip=True), tmp_path / f"b{scale}", key=KEY, block_rows=70)
        said = [str(note) for note in made.making.warnings if note.code == "SF291"]
        assert len(said) == 1
        assert "80 values" in said[0]
        assert made.manifest.schema["cost"].clip
        assert "80" not in (tmp_path / f"b{scale}/manifest.json").read_text("utf-8").split('"salt"')[0]


def test_the_ledger_knows_the_rows_again_on_another_scale(tmp_path: Path) -> None:
    sf.release(bills(), plan_for(), tmp_path / "plain", key=tmp_path / "key")
    with pytest.raises(LedgerError, match="same rows were released before"):
        sf.release(bills(), plan_for("log"), tmp_path / "log", key=tmp_path / "key")


@pytest.mark.parametrize("law", ["gaussian", "uniform", "laplace", "square-wave"])
@pytest.mark.parametrize("scale", [Log(5000.0), Sqrt(), Cbrt(500.0), Asinh(5000.0)], ids=lambda s: s.name)
def test_weights_are_unbiased_for_every_true_value(scale: Scale, law: str) -> None:
    attribute = cost(scale)
    channel = CHANNELS[law](privacy=0.25 if law == "laplace" else 0.5).on(attribute)
    assert attribute.ruler is not None
    weights = Weights.on_ruler(channel, attribute.ruler)
    assert weights is not None
    value = attribute.to_values(weights.points) / 290_000
    assert np.abs(weights.scores.first(weights.released) @ weights.kernel - value).max() < 1e-5
    assert np.abs(weights.scores.second(weights.released) @ weights.kernel - value**2).max() < 1e-5


@pytest.mark.parametrize("scale", [*EVERY.values(), None], ids=[*EVERY, "none"])
def test_figures_are_in_the_unit_and_within_their_errors(scale: Scale | None) -> None:
    values = costs()
    attribute = cost(scale)
    column = Column(attribute, None, attribute.to_places(values))
    d = reconstruct(column.through(sf.Gaussian(privacy=0.25).on(attribute), KEY))
    for figure, truth in ((d.mean(), values.mean()), (d.quantile(0.5), np.median(values)), (d.sd(), values.std())):
        assert figure.low <= figure <= figure.high
        assert abs(float(figure) - truth) < 5 * figure.se + 1e-6
    about = d.to_dict()
    if "edges" in about:
        assert abs(about["edges"][0]) < 1
        assert abs(about["edges"][-1] - 290_000) < 1
    assert abs(float(d.share(0, 290_000)) - 1) < 1e-9
    assert abs(float(d.share(0, 3000)) - (values <= 3000).mean()) < 0.25
    assert abs(float(d.cdf(3000.0)) - (values <= 3000).mean()) < 0.25
    assert d.sample(100).max() <= 290_000 * (1 + 1e-9)


def test_values_released_as_true_have_their_own_mean() -> None:
    attribute = cost(Log(100.0))
    d = reconstruct(Column(attribute, None, attribute.to_places(costs())))
    assert abs(float(d.mean()) / costs().mean() - 1) < 1e-9


def test_the_error_of_mean_and_median_is_a_quarter_of_that_on_the_plain_range() -> None:
    """The short form of benchmarks/scales.py: acceptance 4 of issue 17, for both of its columns."""
    rows = 10_000
    lognormal = np.append(
        np.exp(np.random.default_rng(1).normal(np.log(3000), 1, rows - 1)).round(2).clip(0, 290_000), 290_000.0
    )
    gains = _gains()
    for values, high in ((lognormal, 290_000.0), (gains, 99_999.0)):
        plain = Attribute("x", Kind.REAL, Interval(0, high))
        scale = propose_scale(Interval(0, high), Sizes.of(values))
        assert scale is not None
        mean, median = [], []
        for attribute in (plain, replace(plain, scale=scale)):
            column = Column(attribute, None, attribute.to_places(values))
            law = sf.Gaussian(privacy=0.5).on(attribute)
            made = [reconstruct(column.through(law, SecretKey(bytes([k] * 32)))) for k in range(5)]
            mean.append(np.mean([d.mean().se for d in made]))
            median.append(np.median([d.quantile(0.5).se for d in made]))
            for d in made:
                assert abs(float(d.mean()) - values.mean()) < 4.5 * d.mean().se
        assert mean[1] <= 0.25 * mean[0]
        assert median[1] <= 0.25 * median[0]


def _gains() -> FloatArray:
    blocks = read_blocks(open_table("adult"), ["capital_gain"])
    return np.concatenate([b.batch.column(0).to_numpy(zero_copy_only=False) for b in blocks]).astype(np.float64)


@pytest.mark.parametrize("strategy", ["byclass", "global", "local", "randomized", "joint", "mixture", "naive-bayes"])
def test_a_model_is_in_the_unit_and_predicts_for_plain_values(tmp_path: Path, strategy: str) -> None:
    release = sf.release(bills(), plan_for({"name": "log", "unit": 1000}), tmp_path / "r", key=KEY)
    model = sf.mine(release, strategy)
    model.save(tmp_path / "model.json")
    again = sf.Model.load(tmp_path / "model.json")
    assert sf.evaluate(again, bills())["accuracy"] > 0.8
    assert again.predict(bills()).equals(model.predict(bills()))
    if strategy != "naive-bayes":
        cuts = [n.test.threshold for n in model.tree.nodes if n.test is not None and n.test.attribute == "cost"]
        assert any(cut is not None and 1000 < cut < 10_000 for cut in cuts)


def test_counts_and_rows_give_the_same_answers(tmp_path: Path) -> None:
    release = sf.release(bills(), plan_for("cbrt"), tmp_path / "r", key=KEY)
    gathered, counted = (sf.reconstruct(release, engine=e)["cost"].to_dict() for e in (Local(), Local(gathers=False)))
    for name in ("mean", "variance", "median"):
        assert counted[name]["estimate"] == pytest.approx(gathered[name]["estimate"], rel=1e-6)
    trees = [sf.mine(release, "byclass", engine=e).tree for e in (Local(), Local(gathers=False))]
    assert trees[0].nodes == trees[1].nodes


def test_every_verb_answers_for_a_column_on_a_scale(tmp_path: Path) -> None:
    table = tmp_path / "bills.parquet"
    pa.parquet.write_table(bills(1500), table)
    release = sf.release(table, plan_for({"name": "log", "unit": 1000}), tmp_path / "r", key=KEY)
    result = sf.audit(release, table)
    promise = next(p for p in result.promises if p.attribute == "cost")
    assert promise.unit == "of its log scale"
    assert "0.5 of its log scale" in promise.in_words
    centres = [c["cost"] for c in sf.cluster(release, k=2)["centres"]]
    assert max(centres) > 100
    assert sf.compare(table, release).trees
    about = sf.describe(release)["attributes"]["cost"]["privacy"]
    assert about["interval_width_95_share"] == pytest.approx(0.5, rel=1e-3)
    example = about["interval_95_example"]
    assert 0 <= example["low"] < example["released"] < example["high"] <= 290_000
    drawing = sf.reconstruct(release, ["cost"]).to_svg()
    assert "log scale" in drawing
    assert "100K" in drawing or "200K" in drawing


def test_a_joint_law_acts_on_the_scale(tmp_path: Path) -> None:
    plan = plan_for("sqrt")
    joined = replace(plan, channels={}, method={"law": "correlated-gaussian", "privacy": 0.5})
    release = sf.release(bills(), joined, tmp_path / "r", key=KEY)
    mean = sf.reconstruct(release, ["cost"])["cost"].overall.mean()
    assert abs(float(mean) - costs().mean()) < 5 * mean.se
    assert mean.se < 290_000 * 0.5 / 3.92 / np.sqrt(4000) / 2


def test_a_plan_proposes_a_scale_where_a_few_values_stretch_the_range() -> None:
    table = bills().append_column("even", pa.array(np.random.default_rng(2).uniform(0, 100, 4000).round(1)))
    plan = sf.plan(table, target="class")
    assert plan.scaled == ["cost"]
    assert plan.schema["cost"].kind is Kind.REAL
    assert "SF293" in [note.code for note in plan.remarks]
    assert "stretch the range" in plan.to_toml()
    assert sf.Plan.from_dict(plan.to_dict()) == plan
    assert sf.plan(table, target="class", method="leaf-swap").scaled == []


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (np.random.default_rng(1).normal(50, 10, 5000).clip(0, 100), None),
        (np.random.default_rng(1).exponential(10, 5000).clip(0, 100), None),
        (np.arange(5000.0), None),
        (np.append(np.random.default_rng(1).normal(0, 10, 5000), [1e5, -1e5]), "cbrt"),
        (np.append(np.exp(np.random.default_rng(1).normal(8, 1, 5000)), 3e5), "log"),
        (np.array([1e15, 1e15 + 1] * 20), None),
        (np.array([0.0, 1.0]), None),
    ],
)
def test_ordinary_columns_are_left_alone(values: FloatArray, scale: str | None) -> None:
    proposed = propose_scale(
        Interval(*rounded_outward(float(values.min()), float(values.max()), whole=False)), Sizes.of(values)
    )
    assert (proposed and proposed.name) == scale


def test_sizes_add_up() -> None:
    values = np.concatenate([costs(), -costs(), [0.0]])
    assert Sizes.of(values[:3000]) + Sizes.of(values[3000:]) == Sizes.of(values)
