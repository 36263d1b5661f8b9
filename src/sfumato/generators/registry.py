"""The generators by name."""

from __future__ import annotations

import difflib

from sfumato.errors import UsageError
from sfumato.generators.agrawal import agrawal as _agrawal
from sfumato.generators.base import Generator
from sfumato.generators.crd import crd as _crd
from sfumato.generators.csd import csd as _csd
from sfumato.generators.shapes import as_generator, plateau, plateau200, triangles, triangles200
from sfumato.text import join_names

GENERATORS: dict[str, Generator] = {
    generator.name: generator
    for generator in (
        _agrawal,
        _crd,
        _csd,
        as_generator(plateau, "one column, uniform on the middle half of [0, 1] (Agrawal & Srikant 2000, Figure 2)"),
        as_generator(triangles, "one column, two triangles side by side on [0, 1] (Agrawal & Srikant 2000, Figure 2)"),
        as_generator(plateau200, "the plateau over the integers 1 to 200 (Dowd, Xu & Zhang 2006, section 5.1)"),
        as_generator(triangles200, "the triangles over the integers 1 to 200 (Dowd, Xu & Zhang 2006, section 5.1)"),
    )
}


def names() -> tuple[str, ...]:
    """Return the names that `get` knows."""
    return tuple(GENERATORS)


def get(name: str) -> Generator:
    """Return the generator called `name`."""
    if name not in GENERATORS:
        near = difflib.get_close_matches(name, GENERATORS, n=1)
        hint = f"did you mean {near[0]}?" if near else "choose one of them"
        raise UsageError(f"generator: {name!r} is not known; there are {join_names(GENERATORS)}; {hint}")
    return GENERATORS[name]
