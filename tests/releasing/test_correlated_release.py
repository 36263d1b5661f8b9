"""Releases with correlated gaussian noise: the law on a table, its statement, and who may take columns one by one."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.support.correlated import shaped_like

from sfumato.channels import Gaussian, Substitution
from sfumato.channels.correlated import FLOOR, Marginal, Moments, without_empty_directions
from sfumato.cli.release import release as release_command
from sfumato.description import describe_manifest
from sfumato.errors import DataError, LedgerError, UsageError
from sfumato.mining.model import mine
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.reconstruction import reconstruct, reconstruct_joint
from sfumato.releases import Manifest, Release
from sfumato.releasing import release
from sfumato.releasing.joint_noise import with_joint_noise
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Role, Schema
from sfumato.table import correlated_columns
from sfumato.trees.strategies.published import byclass

KEY = SecretKey(bytes(range(32)))
ROWS = 6000
SCHEMA = Schema(
    (
        Attribute("height", Kind.REAL, Interval(100, 250), resolution=0.1),
        Attribute("weight", Kind.REAL, Interval(0, 200)),
        Attribute("shoe", Kind.INTEGER, Interval(20, 60)),
        Attribute("town", Kind.CATEGORICAL, Categories(("north", "south"))),
        Attribute("sex", Kind.CATEGORICAL, Categories(("f", "m")), role=Role.TARGET, consent=Consent.TRUE),
    )
)
NUMBERS = ("height", "weight", "shoe")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    sex = rng.integers(0, 2, ROWS)
    z = rng.normal(size=(ROWS, 3))
    height = np.round(165 + 12 * sex + 6 * z[:, 0], 1)
    weight = 60 + 0.9 * (height - 165) + 7 * z[:, 1]
    shoe = np.round(38 + 0.25 * (height - 165) + 0.8 * z[:, 2]).astype(int)
    gaps = rng.random(ROWS) < 0.05
    return pa.table(
        {
            "height": height,
            "weight": pa.array(np.where(gaps, np.nan, weight), from_pandas=True),
            "shoe": shoe,
            "town": rng.choice(["north", "south"], ROWS),
            "sex": np.array(["f", "m"])[sex],
        }
    )


def plan(**method):
    wishes = {"law": "correlated-gaussian"} | method
    return Plan(SCHEMA, {"town": Substitution(gamma=6.0)}, name="people", method=wishes)


@pytest.fixture(scope="module")
def made(people, tmp_path_factory):
    return release(people, plan(ratio=0.5), tmp_path_factory.mktemp("correlated") / "r", key=KEY)


def numbers(table):
    return np.column_stack([table[n].to_numpy(zero_copy_only=False).astype(float) for n in NUMBERS])


def test_the_released_noise_has_half_the_covariance_of_the_data(people, made):
    truth = numbers(people)
    noise = numbers(made.to_arrow()) - truth
    complete = ~np.isnan(truth).any(axis=1)
    wanted = np.array(made.manifest.joint.covariance)
    stated = 0.5 * np.cov(truth[complete], rowvar=False)
    assert np.abs(wanted - stated).max() < 0.05 * np.diag(stated).max()  # blurred, and raised in thin directions
    scale = np.sqrt(np.diag(wanted))
    gap = (np.cov(noise[complete], rowvar=False) - wanted) / np.outer(scale, scale)
    assert np.abs(gap).max() < 0.09  # 5 sd of a correlation of 5,700 rows
    assert np.abs(np.corrcoef(np.hstack([noise, truth])[complete], rowvar=False)[:3, 3:]).max() < 0.07


def test_missing_values_stay_missing_and_other_columns_keep_their_own_law(people, made):
    table = made.to_arrow()
    assert table["weight"].null_count == people["weight"].null_count > 200
    assert isinstance(made.manifest["town"].channel, Substitution)
    assert table["sex"].to_pylist() == people["sex"].to_pylist()
    assert pa.types.is_integer(table["shoe"].type)


def test_the_manifest_states_the_joint_law_once_and_each_column_as_gaussian(made):
    about = json.loads((made.folder / "manifest.json").read_text("utf-8"))
    assert about["joint"]["law"] == "correlated-gaussian"
    assert about["joint"]["names"] == list(NUMBERS)
    assert about["joint"]["ratio"] == 0.5
    columns = {a["name"]: a["mechanism"] for a in about["attributes"]}
    for i, name in enumerate(NUMBERS):
        assert columns[name]["law"] == "gaussian"
        assert columns[name]["sigma"] ** 2 == pytest.approx(about["joint"]["covariance"][i][i])
    again = Manifest.from_dict(about)
    assert again == made.manifest
    assert isinstance(again["weight"].channel, Marginal)
    assert describe_manifest(again)["joint"]["ratio"] == 0.5


def test_a_manifest_whose_columns_contradict_the_joint_law_is_refused(made):
    about = made.manifest.to_dict()
    about["attributes"][0]["mechanism"]["sigma"] *= 1.01
    with pytest.raises(DataError, match="joint covariance"):
        Manifest.from_dict(about)
    about = made.manifest.to_dict()
    del about["attributes"][0]
    with pytest.raises(DataError, match="height"):
        Manifest.from_dict(about)


def test_any_block_size_gives_the_same_bytes(people, made, tmp_path):
    other = release(people, plan(ratio=0.5), tmp_path / "r", key=KEY, block_rows=777)
    assert other.manifest.data.sha256 == made.manifest.data.sha256


def test_a_column_by_itself_is_reconstructed_as_through_any_gaussian(people, made):
    found = reconstruct(made.read_table()["height"])
    truth = people["height"].to_numpy()
    assert found.mass @ found.grid.centres == pytest.approx(truth.mean(), abs=0.6)
    spread = np.sqrt(found.mass @ (found.grid.centres - found.mass @ found.grid.centres) ** 2)
    assert spread == pytest.approx(truth.std(), rel=0.08)


def test_what_multiplies_laws_of_columns_refuses_and_tree_says_why_it_does_not(made):
    table = made.read_table()
    assert correlated_columns(table.columns) == NUMBERS
    assert correlated_columns([table["height"], table["town"]]) == ()
    for strategy in ("joint", "mixture", "local"):
        with pytest.raises(UsageError, match="correlated"):
            mine(made, strategy)
    with pytest.raises(UsageError, match="correlated"):
        reconstruct_joint(table, ["height", "weight", "shoe"])
    assert reconstruct_joint(table, ["height", "town"]).mass.sum() == pytest.approx(1)
    model = mine(made, "tree")
    assert model.notes["strategy"] == "byclass"
    assert "correlated" in model.notes["why"]
    assert mine(made).notes["strategy"] == "boosting"


def test_a_tree_grown_from_correlated_noise_is_better_than_guessing(people, made):
    assert mine(made).evaluate(people)["accuracy"] > 0.75


def test_noise_belongs_to_the_entity_where_there_is_one(people, tmp_path):
    ids = np.arange(ROWS) + 1000
    table = people.append_column("id", pa.array(ids))
    attributes = (
        *SCHEMA.attributes,
        Attribute("id", Kind.CATEGORICAL, None, role=Role.IDENTIFIER, consent=Consent.WITHHOLD),
    )
    law = shaped_like(numbers(people), SCHEMA.attributes[:3], 0.5)
    declared = {"names": list(law.names), "covariance": [list(r) for r in law.covariance]}
    wanted = replace(plan(**declared), schema=Schema(attributes))
    order = np.random.default_rng(1).permutation(ROWS)
    first = release(table, wanted, tmp_path / "a", key=KEY).to_arrow()
    second = release(table.take(order), replace(wanted, name="other"), tmp_path / "b", key=KEY).to_arrow()
    for name in NUMBERS:
        assert first[name].take(order).to_pylist() == second[name].to_pylist()


def test_the_ledger_refuses_fresh_correlated_noise_and_knows_the_same_noise_again(people, tmp_path):
    key = tmp_path / "key"
    release(people, plan(ratio=0.5), tmp_path / "a", key=key)
    release(people, plan(ratio=0.5), tmp_path / "b", key=key)
    with pytest.raises(LedgerError, match="average"):
        release(people, plan(ratio=0.6), tmp_path / "c", key=key)


def test_a_constant_column_is_refused_with_what_to_do(people, tmp_path):
    still = people.set_column(2, "shoe", pa.array([40] * ROWS))
    with pytest.raises(DataError, match="shoe: does not vary"):
        release(still, plan(ratio=0.5), tmp_path / "r", key=KEY)
    own = plan(ratio=0.5)
    own = replace(own, channels={**own.channels, "shoe": Gaussian(sigma=1.0)})
    made = release(still, own, tmp_path / "r", key=KEY)
    assert made.manifest.joint.names == ("height", "weight")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ({"ratio": -1}, "positive"),
        ({"ratio": "much"}, "not a number"),
        ({"ratio": 1, "privacy": 0.5}, "either ratio or privacy"),
        ({"sigma": 1}, "no parameter sigma"),
        ({"names": ["height", "weight"], "covariance": [[1, 0], [0, 1]]}, "columns to blur"),
        ({"names": list(NUMBERS), "covariance": [[1, 1, 0], [1, 1, 0], [0, 0, 1]]}, "direction without noise"),
        ({"covariance": [[1]]}, "not complete"),
    ],
)
def test_wishes_that_cannot_be_are_refused_in_words(people, method, words, tmp_path):
    with pytest.raises(UsageError, match=words):
        release(people, plan(**method), tmp_path / "r", key=KEY)


def test_labels_without_noise_and_single_columns_are_refused(people, tmp_path):
    with pytest.raises(UsageError, match="town: correlated-gaussian noise is for numbers"):
        release(people, replace(plan(ratio=1), channels={}), tmp_path / "r", key=KEY)
    alone = replace(plan(ratio=1), channels={n: Gaussian(sigma=1.0) for n in NUMBERS[1:]} | plan().channels)
    with pytest.raises(UsageError, match="two or more"):
        release(people, alone, tmp_path / "r", key=KEY)


def test_privacy_gives_every_column_at_least_the_interval_asked_for(people, tmp_path):
    law = release(people, plan(privacy=0.4), tmp_path / "r", key=KEY).manifest.joint
    shares = [law.interval_width(n) / SCHEMA[n].interval.range for n in NUMBERS]
    assert min(shares) == pytest.approx(0.4, rel=1e-4)


def test_a_column_that_repeats_another_still_gets_noise_of_its_own(tmp_path):
    rng = np.random.default_rng(3)
    a = rng.normal(50, 10, 3000).round(2).clip(0, 100)
    schema = Schema(tuple(Attribute(n, Kind.REAL, Interval(0, 100), resolution=0.01) for n in "ab"))
    twins = Plan(schema, {}, name="twins", method={"law": "correlated-gaussian", "ratio": 1.0})
    out = release(pa.table({"a": a, "b": a}), twins, tmp_path / "r", key=KEY).to_arrow()
    apart = (out["a"].to_numpy() - out["b"].to_numpy()) / np.sqrt(2)
    # In the direction a − b there are no data. Correlations keep an eigenvalue of FLOOR there, or of 2 √d √((d + 3) c) R s/(n s²),
    # the largest that the blur of what was learned can take away: 2 √2 √5 · 10/3000.
    floor = max(FLOOR, 2 * np.sqrt(2) * np.sqrt(5) * 10 / 3000)
    assert apart.std() == pytest.approx(10 * np.sqrt(floor), rel=0.1)


def test_moments_of_blocks_add_up_to_numpys_covariance(people):
    table = numbers(people)
    table = table[~np.isnan(table).any(axis=1)]
    origin, unit = table[0], np.array([150.0, 200.0, 40.0])
    halves = Moments.of(NUMBERS, table[:1000], origin, unit) + Moments.of(NUMBERS, table[1000:], origin, unit)
    assert halves.covariance() == pytest.approx(np.cov(table, rowvar=False), rel=1e-9)


def test_pairs_that_contradict_each_other_become_a_covariance_that_noise_can_have():
    impossible = np.array([[4.0, 1.9, -1.9], [1.9, 1.0, 0.95], [-1.9, 0.95, 1.0]])
    assert np.linalg.eigvalsh(impossible).min() < 0
    mended = without_empty_directions(impossible)
    assert np.diag(mended) == pytest.approx([4.0, 1.0, 1.0])
    assert np.linalg.eigvalsh(mended).min() > 0


def test_the_command_makes_such_a_release_and_labels_blur_alike(tmp_path):
    arguments = ["adult", "-o", str(tmp_path / "r"), "--method", "correlated-gaussian", "--set", "ratio=1"]
    result = CliRunner().invoke(
        release_command, [*arguments, "--key", str(tmp_path / "key"), "--json"], catch_exceptions=False
    )
    assert result.exit_code == 0
    about = json.loads(result.stdout)
    assert about["joint"]["ratio"] == 1.0
    assert len(about["joint"]["names"]) == 6
    found = Release.open(tmp_path / "r").manifest
    assert found["race"].channel.law == "substitution"
    assert "is correlated" in (tmp_path / "r" / "README.md").read_text("utf-8")


def test_a_proposed_plan_with_correlated_noise_survives_its_toml(tmp_path):
    proposal = with_joint_noise(Plan.propose("adult"), {"ratio": 2.0})
    (tmp_path / "plan.toml").write_text(proposal.to_toml(), "utf-8")
    again = Plan.load(tmp_path / "plan.toml")
    assert again.method == {"law": "correlated-gaussian", "ratio": 2.0}
    assert set(again.channels) == {a.name for a in proposal.schema if not a.kind.numeric and a.role is not Role.TARGET}


def test_byclass_leaves_the_leaves_as_counted_where_noise_was_drawn_together(made):
    # How records stray between leaves is a product over attributes, which holds for independent noise only.
    table = made.read_table()
    assert correlated_columns(table.columns)
    assert byclass(table) == byclass(table, as_counted=True)


def test_variances_of_a_few_rows_are_not_published(people, tmp_path):
    few = people.set_column(
        people.schema.get_field_index("height"),
        "height",
        pa.array([v if i < 2 else None for i, v in enumerate(people["height"].to_pylist())]),
    )
    with pytest.raises(DataError, match="height: fewer than 30 rows have a value"):
        release(few, plan(ratio=0.5), tmp_path / "r", key=SecretKey(bytes(32)))


def test_columns_that_a_few_rows_share_count_as_unrelated():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 2)) + 5 * rng.normal(size=(200, 1))
    table[:98, 0] = np.nan
    table[100:, 1] = np.nan
    moments = Moments.of(("a", "b"), table, np.zeros(2), np.ones(2))
    assert moments.pairs[0, 1] == 2
    assert moments.covariance()[0, 1] == 0
