"""What a release is: data plus a public statement of how it was randomised, and the owner's key and ledger beside it."""

from sfumato.releases.folder import Release
from sfumato.releases.key import create_key, load_key
from sfumato.releases.manifest import Manifest

__all__ = ["Manifest", "Release", "create_key", "load_key"]
