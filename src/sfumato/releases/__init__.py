"""From a plan to a release folder: plan (intent), key (private), manifest (public), release (data and manifest), ledger."""

from sfumato.releases.key import create_key, load_key
from sfumato.releases.making import Release, release
from sfumato.releases.manifest import Manifest
from sfumato.releases.plan import Plan

__all__ = ["Manifest", "Plan", "Release", "create_key", "load_key", "release"]
