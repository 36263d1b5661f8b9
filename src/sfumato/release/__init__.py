"""From a plan to a release folder: plan (intent), key (private), manifest (public), release (data and manifest), ledger."""

from sfumato.release.key import create_key, load_key
from sfumato.release.manifest import Manifest
from sfumato.release.plan import Plan
from sfumato.release.release import Release, release

__all__ = ["Manifest", "Plan", "Release", "create_key", "load_key", "release"]
