"""From a table to a release to what a miner finds in it, in twenty lines."""

import tempfile
from pathlib import Path

import sfumato as sf

with tempfile.TemporaryDirectory() as scratch:
    folder = Path(scratch)

    # The owner: every attribute blurred, the class left as it is.
    plan = sf.Plan.propose("iris", noise="gaussian", privacy=0.25)
    sf.release("iris", plan, folder / "release", key=folder / "owner.key")

    # The miner: the folder, and nothing else.
    release = sf.Release.open(folder / "release")
    length = sf.reconstruct(release.read_table()["petal_length"])
    print(f"petal length: mean {length.mean():.2f}, median {length.quantile(0.5):.2f} (reconstructed)")

    model = sf.mine(release, strategy="byclass")
    print(f"accuracy on true values: {model.evaluate('iris')['accuracy']:.1%}")
