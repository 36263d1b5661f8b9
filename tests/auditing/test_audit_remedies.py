"""What the audit tells people to do: nothing that they have done already, and each thing under its own name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.auditing.promises import Promise, remedies_taken
from sfumato.auditing.runner import audit
from sfumato.channels import Gaussian
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releasing import release
from sfumato.releasing.joint_noise import with_joint_noise
from sfumato.schema import Attribute, Consent, Interval, Kind, Role, Schema

KEY = SecretKey(bytes(range(32)))
OTHER_KEY = SecretKey(bytes(range(1, 33)))


@pytest.fixture(scope="module")
def correlated(tmp_path_factory):
    made = release(
        "iris", with_joint_noise(Plan.propose("iris"), {"ratio": 0.5}), tmp_path_factory.mktemp("j") / "r", key=KEY
    )
    return audit("iris", made, targets=60)


def promise(name, left, attack, done=()):
    return Promise(name, "gaussian", "", 10.0, 50.0, left, (left, left), left, attack, "…", done=done)


def test_correlated_noise_is_not_recommended_to_a_release_that_has_it(correlated):
    through_others = [
        replace(p, attack=a, source_left=None)
        for p in correlated.promises
        for a in ("bayes", "spectral", "pca")
        if p.remedy
    ]
    assert through_others
    assert all("correlated already" in p.remedy for p in through_others)
    assert not [a for a in correlated.alarms() if "the method correlated-gaussian" in a["remedy"]]


@pytest.mark.parametrize("tied", [True, False])
def test_noise_tied_to_people_is_recommended_only_where_it_is_not(tied, tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table({"who": np.arange(600), "x": rng.uniform(0, 100, 600).round(2)})
    who = Attribute("who", Kind.INTEGER, Interval(0, 599), role=Role.IDENTIFIER, consent=Consent.WITHHOLD)
    x = Attribute("x", Kind.REAL, Interval(0, 100), resolution=0.01)
    plan = Plan(Schema((who, x) if tied else (x,)), {"x": Gaussian(sigma=5.0)}, name="one")
    table = table if tied else table.select(["x"])
    one = release(table, plan, tmp_path / "one", key=KEY)
    two = release(table, replace(plan, name="two"), tmp_path / "two", key=OTHER_KEY)
    assert one.manifest.addressing == ("entity" if tied else "row")
    assert len(remedies_taken(one.manifest)) == (2 if tied else 0)  # against averaging, and against rows of one person
    (found,) = audit(table, one, others=[two], targets=50).promises
    assert found.attack == "averaging"
    assert ("tie the noise to people" in found.remedy) is not tied
    assert ("tied to people already" in found.remedy) is tied


def test_the_headline_names_what_narrowed_each_promise(correlated):
    def headline(*promises):
        return replace(correlated, promises=promises).verdict

    own, other, else_ = promise("a", 8.0, "posterior"), promise("b", 8.0, "bayes"), promise("c", 8.0, "averaging")
    kept = promise("d", 10.0, "posterior")
    assert headline(own, kept) == "No promise is broken; 1 of 2 are narrowed by the distribution of their column."
    assert headline(other, other, kept) == "No promise is broken; 2 of 3 are narrowed through other columns."
    assert headline(own, own, other, else_) == (
        "No promise is broken; 4 of 4 are narrowed, 2 by the distribution of their column, 1 through other columns, "
        "1 by other attacks."
    )


def test_people_who_can_be_found_are_no_broken_promise(correlated):
    assert any(f.name == "likelihood-linkage" and f.gains for f in correlated.findings)
    found = replace(correlated, promises=(promise("a", 10.0, "posterior"), promise("b", 10.0, "posterior")))
    assert (
        found.verdict == "All 2 promises are kept against every attack tried; but people can be found in the release."
    )
    (alarm,) = found.alarms()
    assert alarm["level"] == "people found"
    assert "broken" not in str(found.alarms())
    page = found.html()
    assert "No attack got past a promise" not in page
    assert '<div class="alarm "><b>People can be found' in page  # red
    unlinked = replace(found, findings=())
    assert unlinked.verdict == "All 2 promises are kept against every attack tried."
    assert not unlinked.alarms()
