"""Methods as frozen dataclasses of their parameters: what a person may set, read from a plan or a command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from sfumato.errors import UsageError
from sfumato.text import join_names


def parameter(default: Any, about: str) -> Any:
    """Return a dataclass field that a person may set; `about` says what it does."""
    return dataclasses.field(default=default, metadata={"about": about})


class Parameters:
    """A method with its parameters; subclasses are frozen dataclasses whose fields all have defaults.

    `law` is the name of the method in plans, manifests and JSON.
    """

    law: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the method and its parameters as plain data; `from_dict` reads it back."""
        return {"law": self.law} | {name: getattr(self, name) for name in self.parameters()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the method with the given parameters; values may be texts, as a command line gives them."""
        fields = _fields(cls)
        if unknown := set(data) - set(fields) - {"law"}:
            raise UsageError(
                f"{cls.law} has no parameter {join_names(sorted(unknown))}; it has {join_names(sorted(fields), 12)}"
            )
        return cls(
            **{name: _read(cls.law, name, value, fields[name].default) for name, value in data.items() if name != "law"}
        )

    @classmethod
    def parameters(cls) -> dict[str, str]:
        """Return what a person may set, each with its description."""
        return {name: str(field.metadata.get("about", "")) for name, field in _fields(cls).items()}


def _fields(of: Any) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(of)}


def _read(law: str, name: str, value: Any, default: Any) -> Any:
    """Convert the value to the type of its default; raise UsageError where it does not fit."""
    kind: Any = type(default)
    if kind is bool and isinstance(value, str):
        if value.lower() in ("true", "yes", "1"):
            return True
        if value.lower() in ("false", "no", "0"):
            return False
    elif kind is int and isinstance(value, float) and not value.is_integer():
        pass
    else:
        try:
            return kind(value)
        except (TypeError, ValueError):
            pass
    raise UsageError(
        f"{law}: {name} = {value!r} is not of type {kind.__name__}; see what it means in the method's parameters"
    )
