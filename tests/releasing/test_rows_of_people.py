"""People in many rows: the id is noticed, noise is tied to the person, and the release states its privacy per person."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.support.claims import PATIENTS, claims

import sfumato as sf
from sfumato.channels import Gaussian, Laplace, Uniform
from sfumato.cli.app import cli
from sfumato.engines import Local
from sfumato.errors import DataError
from sfumato.plans import Plan
from sfumato.privacy import averaged_width, person_figures
from sfumato.releases import Manifest, RowsOfEntities
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Role

KEY = sf.SecretKey(bytes(range(32)))


def test_a_plan_notices_an_id_that_repeats_and_ties_the_noise_to_it() -> None:
    table = claims()
    plan = Plan.propose(table)
    patient = plan.schema["patient_id"]
    assert (patient.role, patient.consent) == (Role.IDENTIFIER, Consent.WITHHOLD)
    times = np.unique(table["patient_id"].to_numpy(), return_counts=True)[1]
    told = next(line for line in plan.remarks if line.code == "SF273")
    assert told.startswith("patient_id: says whose row it is")
    assert told.endswith(f"; {PATIENTS} ids with {times.mean():.1f} rows on average and up to {times.max()}")
    assert "up to" in Plan.propose(table, identifier="patient_id").notes["patient_id"]
    assert Plan.from_dict(plan.to_dict()) == plan


def test_ids_that_do_not_repeat_and_ids_with_gaps_are_withheld_and_tie_nothing() -> None:
    numbers = list(range(1, 201))
    flags = ["a", "b"] * 100
    assert Plan.propose(pa.table({"patient_id": numbers, "x": flags})).schema.identifier is None
    gaps = Plan.propose(pa.table({"patient_id": [None, *[n % 40 for n in numbers[1:]]], "x": flags}))
    assert gaps.schema.identifier is None
    assert not gaps.schema["patient_id"].released


def test_of_several_ids_the_one_of_most_people_is_taken() -> None:
    rows = np.arange(600)
    table = pa.table({"doctor_id": rows % 12, "patient_id": rows % 90, "x": ["a", "b"] * 300})
    plan = Plan.propose(table)
    assert plan.schema.identifier is not None
    assert plan.schema.identifier.name == "patient_id"
    assert not plan.schema["doctor_id"].released


def test_a_guided_method_withholds_the_id_and_ties_nothing(tmp_path: Path) -> None:
    plan = sf.plan(claims(), target="weekday", method="leaf-swap")
    assert plan.schema.identifier is None
    assert not plan.schema["patient_id"].released
    assert not [line for line in plan.remarks if line.code == "SF273"]
    sf.release(claims(), plan, tmp_path / "r")


def test_equal_values_of_a_person_share_their_noise_and_different_ones_do_not(tmp_path: Path) -> None:
    table = claims()
    made = sf.release(table, Plan.propose(table), tmp_path / "r", key=KEY).to_arrow()
    who, out = table["patient_id"].to_numpy(), {n: made[n].to_numpy() for n in ("age", "cost")}
    pairs = {(p, v) for p, v in zip(who.tolist(), out["age"].tolist(), strict=True)}
    assert len(pairs) == PATIENTS, "one age, one draw"
    noise = out["cost"] - table["cost"].to_numpy()
    assert len(np.unique(noise.round(6))) > 0.9 * len(noise)


def test_the_release_counts_people_and_states_their_privacy_in_words(tmp_path: Path) -> None:
    table = claims()
    release = sf.release(table, Plan.propose(table), tmp_path / "r", key=KEY)
    assert release.manifest.entities == RowsOfEntities("patient_id", PATIENTS, 20)
    assert Manifest.load(release.folder) == release.manifest
    about = sf.describe(release)
    assert about["person"]["people"] == PATIENTS
    assert about["person"]["mean_rows"] == pytest.approx(table.num_rows / PATIENTS)
    law = release.manifest["age"].channel
    assert about["person"]["attributes"]["age"]["mean_interval_width_95"] == pytest.approx(
        law.interval_width(0.95) / np.sqrt(20), rel=1e-3
    )
    assert {"SF275", "SF276"} <= {f["code"] for f in about["findings"]}
    readme = (release.folder / "README.md").read_text("utf-8")
    assert f"Per person: {PATIENTS} people have" in readme
    shown = CliRunner().invoke(cli, ["describe", str(release.folder)]).output
    assert "Per person" in shown


def test_people_with_one_row_each_are_stated_as_before(tmp_path: Path) -> None:
    table = pa.table({"person": list(range(200)), "x": [i % 7 for i in range(200)]})
    release = sf.release(table, Plan.propose(table, identifier="person"), tmp_path / "r")
    assert release.manifest.entities is None
    assert "entities" not in release.manifest.to_dict()
    assert "person" not in sf.describe(release)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_bytes_do_not_depend_on_blocks_or_workers(tmp_path: Path, workers: int) -> None:
    table = claims()
    plan = Plan.propose(table, name="claims")
    whole = sf.release(table, plan, tmp_path / "a", key=KEY)
    parts = sf.release(table, plan, tmp_path / "b", key=KEY, block_rows=97, engine=Local(workers))
    assert whole.manifest.data.sha256 == parts.manifest.data.sha256
    assert whole.manifest.entities == parts.manifest.entities


def test_a_manifest_of_no_people_is_refused() -> None:
    with pytest.raises(DataError, match="some must have two"):
        RowsOfEntities("id", 10, 1)


@pytest.mark.parametrize(
    ("law", "deviation"),
    [(Gaussian(sigma=10.0), 10), (Uniform(alpha=10.0), 10 / 3**0.5), (Laplace(b=10.0), 10 * 2**0.5)],
)
def test_the_mean_of_k_draws_has_the_deviation_of_one_by_the_root_of_k(law: sf.Channel, deviation: float) -> None:
    bound = law.on(Attribute("x", Kind.REAL, Interval(0, 100)))
    assert averaged_width(bound, 16) == pytest.approx(2 * 1.96 * deviation / 4, rel=2e-3)
    draws = np.asarray(bound.perturb(KEY, sf.randomness.Rows(0, 160_000), np.full(160_000, 50.0))).reshape(-1, 16)
    width = np.diff(np.quantile(draws.mean(axis=1), [0.025, 0.975]))[0]
    assert averaged_width(bound, 16) == pytest.approx(width, rel=0.05)


def test_epsilon_adds_up_over_the_values_a_person_can_have() -> None:
    three = Attribute("x", Kind.CATEGORICAL, Categories(("a", "b", "c")))
    law = sf.Substitution(epsilon=1.0).on(three)
    assert person_figures({"x": (law, three)}, 2)["epsilon"] == pytest.approx(2.0)
    assert person_figures({"x": (law, three)}, 50)["epsilon"] == pytest.approx(3.0), "there are three labels"
    number = Attribute("y", Kind.REAL, Interval(0, 1))
    both = person_figures({"x": (law, three), "y": (sf.Gaussian(privacy=0.5).on(number), number)}, 2)
    assert both["epsilon"] is None
    assert both["attributes"]["x"]["epsilon"] == pytest.approx(2.0)
