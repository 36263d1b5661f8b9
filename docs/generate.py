"""Write the pages that the code can write itself: `make docs-pages`.

Each page is a function that returns Markdown. Nothing is listed here by hand: names, signatures, parameters and sentences come
from the registries and docstrings of `sfumato`. The pages are committed, so that they can be read without building the site, and
`tests/docs` fails while one of them is out of date.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import click

import sfumato as sf

HERE = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py from the code. Change the docstring there, then run `make docs-pages`. -->\n\n"
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def page(title: str, lead: str, parts: Iterable[str]) -> str:
    """Join a page: its title, one paragraph, and its sections."""
    return "\n\n".join([f"{NOTE}# {title}", lead, *parts]).rstrip() + "\n"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Write a Markdown table; an empty one is nothing."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(c) for c in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


# --- docstrings ---------------------------------------------------------------------------------------------------------


def prose(thing: Any) -> str:
    """Turn a numpydoc docstring into Markdown: paragraphs, then one table or block per section."""
    doc = inspect.getdoc(thing) or ""
    if doc.startswith(f"{getattr(thing, '__name__', '')}("):
        return ""  # What `dataclass` writes where there is no docstring.
    first, *rest = SECTION.split(doc)
    out = [plain(first)]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        out.append(f"**{title}**\n\n{_section(title, body)}")
    return "\n\n".join(part for part in out if part)


def _section(title: str, body: str) -> str:
    if title in ("Parameters", "Attributes", "Returns", "Raises", "Yields"):
        return _definitions(body)
    if title in ("Examples", "Example"):
        return f"```pycon\n{body.strip()}\n```"
    return plain(body)


def _definitions(body: str) -> str:
    items: list[tuple[str, list[str]]] = []
    for line in body.strip().splitlines():
        if line and not line[0].isspace():
            items.append((line.strip(), []))
        elif items:
            items[-1][1].append(line.strip())
    return "\n".join(f"- {_term(head)}{' — ' if text else ''}{plain(' '.join(text))}" for head, text in items)


def _term(head: str) -> str:
    name, colon, kind = head.partition(" : ")
    return f"`{name}`" + (f" (*{kind.strip()}*)" if colon else "")


def plain(text: str) -> str:
    """Make the inline code of a docstring that of Markdown, and its doctests code blocks."""
    text = re.sub(r"``([^`]+)``", r"`\1`", textwrap.dedent(text).strip())
    text = re.sub(
        r"::\n\n((?: {4}.*\n?|\n)+)", lambda m: ":\n\n```\n" + textwrap.dedent(m[1]).strip() + "\n```\n", text
    )
    return re.sub(
        r"((?:^>>> .*\n?(?:^(?!>>>|\s*$).*\n?)*)+)",
        lambda m: f"```pycon\n{m[1].strip()}\n```\n",
        text,
        flags=re.MULTILINE,
    )


def first_sentence(thing: Any) -> str:
    """The first paragraph of a docstring on one line."""
    return " ".join(plain((inspect.getdoc(thing) or "").split("\n\n")[0]).split())


def signature(thing: Callable[..., Any], name: str) -> str:
    """A signature as one writes it, a parameter per line where it is long."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return f"{name}(...)"
    parameters = [p for n, p in found.parameters.items() if n not in ("self", "cls")]
    shown, star = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not star:
            shown.append("*")
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        shown.append(_parameter(p))
    back = "" if found.return_annotation in (found.empty, None, "None") else f" -> {_type(found.return_annotation)}"
    line = f"{name}({', '.join(shown)}){back}"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {s},\n" for s in shown) + f"){back}"


def _parameter(p: inspect.Parameter) -> str:
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    kind = "" if p.annotation is p.empty else f": {_type(p.annotation)}"
    if p.default is p.empty:
        return f"{stars}{p.name}{kind}"
    return f"{p.name}{kind} = {_default(p.default)}" if kind else f"{p.name}={_default(p.default)}"


def _default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    text = repr(value)
    return "..." if " at 0x" in text or "factory" in text else text


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", text)


# --- Python -------------------------------------------------------------------------------------------------------------

API_LEAD = """\
`import sfumato as sf`. These are all the public names. Importing the package is cheap: a name is loaded when it is first used.

A law is a frozen dataclass. What you write is a *wish*; `law.on(attribute)` *binds* it to a column, with all its parameters known:

```pycon
>>> import sfumato as sf
>>> age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 120))
>>> law = sf.Gaussian(privacy=0.5).on(age)
>>> round(law.interval_width(0.95), 1)
60.0
>>> law.guarantee().reason
'the ratio of two normal densities grows without bound in the tails'

```"""


def api() -> str:
    """Every public name with its signature, parameters and examples."""
    groups: dict[str, list[str]] = {}
    for name in sf.PUBLIC:
        groups.setdefault(_group(getattr(sf, name)), []).append(name)
    order = ["Functions", "Laws", "Classes", "Choices", "Errors", "Modules"]
    parts = [f"## All names\n\n{_index(groups, order)}"]
    for group in order:
        if names := groups.get(group):
            parts.append(f"## {group}")
            parts += [_public(name) for name in sorted(names)]
    return page("Python", API_LEAD, parts)


def _group(thing: Any) -> str:
    if inspect.ismodule(thing):
        return "Modules"
    if not inspect.isclass(thing):
        return "Functions"
    if issubclass(thing, Exception):
        return "Errors"
    if issubclass(thing, enum.Enum):
        return "Choices"
    from sfumato.channels import Channel

    return "Laws" if issubclass(thing, Channel) else "Classes"


def anchor(name: str) -> str:
    """The anchor of a public name on the Python page."""
    thing = getattr(sf, name)
    word = "module" if inspect.ismodule(thing) else "class" if inspect.isclass(thing) else ""
    return "-".join(filter(None, [word, name.lower()]))


def _index(groups: dict[str, list[str]], order: list[str]) -> str:
    names = [name for group in order for name in sorted(groups.get(group, ()))]
    rows = [[f"[`{name}`](#{anchor(name)})", first_sentence(getattr(sf, name))] for name in names]
    return table(["name", "what it is"], rows)


def _public(name: str) -> str:
    thing = getattr(sf, name)
    if inspect.ismodule(thing):
        return _module(name, thing)
    if not inspect.isclass(thing):
        return f"### `{name}()`\n\n```python\n{signature(thing, f'sf.{name}')}\n```\n\n{prose(thing)}"
    head = f"### class `{name}`"
    if issubclass(thing, enum.Enum):
        members = table(["value", ""], [[f"`{m.name}`", f"`{m.value}`"] for m in thing])
        return f"{head}\n\n{prose(thing)}\n\n{members}"
    return _class(head, thing, f"sf.{name}")


def _class(head: str, thing: type, name: str) -> str:
    call = "" if issubclass(thing, Exception) else f"```python\n{signature(thing, name)}\n```"
    parts = [head, call, prose(thing), _fields(thing)]
    methods = [_method(n, m) for n, m in _members(thing)]
    if methods:
        parts.append(table(["member", "what it does"], methods))
    return "\n\n".join(filter(None, parts))


def _fields(thing: type) -> str:
    if not hasattr(thing, "parameters") or not dataclasses.is_dataclass(thing):
        return ""
    return table(["parameter", "what it is"], [[f"`{n}`", about] for n, about in thing.parameters().items() if about])


def _members(thing: type) -> list[tuple[str, Any]]:
    fields = {f.name for f in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    out = []
    for name, member in inspect.getmembers_static(thing):
        if name.startswith("_") or name in fields or not _ours(thing, name):
            continue
        if isinstance(member, (classmethod, staticmethod, property, cached_property, types.FunctionType)):
            out.append((name, member))
    return out


def _ours(thing: type, name: str) -> bool:
    owner = next((c for c in thing.__mro__ if name in c.__dict__), thing)
    return owner.__module__.startswith("sfumato")


def _method(name: str, member: Any) -> list[str]:
    if isinstance(member, (property, cached_property)):
        return [f"`.{name}`", first_sentence(member)]
    function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]
    call = ", ".join(p.name if p.default is p.empty else f"{p.name}={_default(p.default)}" for p in parameters)
    return [f"`.{name}({call})`", first_sentence(function)]


def _module(name: str, thing: types.ModuleType) -> str:
    parts = [f"### module `{name}`", prose(thing)]
    for public in getattr(thing, "__all__", sorted(vars(thing))):
        inner = getattr(thing, public)
        ours = inspect.isclass(inner) and inner.__module__.startswith(thing.__name__) and not public.startswith("_")
        if ours and not inspect.isabstract(inner) and not getattr(inner, "_is_protocol", False):
            parts.append(f"#### `sf.{name}.{public}`\n\n" + _class("", inner, f"sf.{name}.{public}").lstrip())
    return "\n\n".join(filter(None, parts))


# --- the command line ---------------------------------------------------------------------------------------------------


def verbs() -> str:
    """Every verb with its arguments and options, as `--help` shows them."""
    from sfumato.cli.app import VERBS, cli

    context = click.Context(cli, info_name="sfumato")
    parts = []
    for name, entry in VERBS.items():
        command = cli.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=f"sfumato {name}")
        usage = command.get_usage(inner).removeprefix("Usage: ")
        rows = [
            [
                f"`{', '.join([*p.opts, *p.secondary_opts])}`"
                + (f" *{p.make_metavar(inner)}*" if not p.is_flag else ""),
                _help(p, inner),
            ]
            for p in command.get_params(inner)
            if isinstance(p, click.Option) and "--help" not in p.opts
        ]
        example = f"```\n{command.epilog.removeprefix('Example:').strip()}\n```" if command.epilog else ""
        doc = plain(inspect.cleandoc(command.help or ""))
        about = entry[-1] if isinstance(entry, tuple) else entry
        parts += [
            f"## sfumato {name}",
            about,
            f"```\n{' '.join(usage.split())}\n```",
            doc,
            example,
            table(["option", "what it does"], rows),
        ]
    lead = (
        "Every verb takes `--help`. Words go to stderr. With `--json` one JSON document goes to stdout and nothing else. "
        "The exit code is 0 when the work is done, 1 when it failed with a message, 2 when the request was wrong. "
        "An existing output is refused without `--force`, and a killed run leaves no half file."
    )
    return page("The command line", lead, filter(None, parts))


def _help(option: click.Option, context: click.Context) -> str:
    option.get_help_record(context)  # an option that lists names looks them up only when its help is asked for
    text = option.help or ""
    if isinstance(option.show_default, str):
        return f"{text} Default: {option.show_default}."
    if option.show_default and option.default not in (None, ()):
        return f"{text} Default: `{option.default}`.".strip()
    return text


# --- registries ---------------------------------------------------------------------------------------------------------


def laws() -> str:
    """Every law with its parameters and the guarantee it states."""
    from sfumato.channels import CHANNELS, CorrelatedGaussian

    parts = []
    for name, cls in sorted(CHANNELS.items()):
        kinds = [word for word, fits in (("numbers and dates", cls.numeric), ("labels", cls.categorical)) if fits]
        parts += [
            f"## {name}",
            prose(cls),
            f"Acts on {' and '.join(kinds)}.",
            _parameters(cls),
            _example(cls),
            _swept(cls),
        ]
    parts += [f"## {CorrelatedGaussian.law}", prose(CorrelatedGaussian)]
    lead = (
        "A law says how a released value depends on the true one. Choose it with `--noise LAW` for all columns, or with "
        '`noise = { law = "…" }` for one column of a plan. `correlated-gaussian` covers several columns at once and is chosen with '
        "`--method`. The [manifest](../manifest.md) states the law of every column; the "
        "[owner's guide](../guide/owner.md#choose-the-noise) helps to choose."
    )
    return page("Laws", lead, filter(None, parts))


def _example(cls: Any) -> str:
    """What the law does to a column that everybody knows."""
    age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 120))
    region = sf.Attribute("region", sf.Kind.CATEGORICAL, sf.Categories(tuple("ABCDEFGHIJ")))
    attribute, column = (age, "ages from 0 to 120") if cls.numeric else (region, "ten regions")
    wish = cls.examples()[0]
    law = wish.on(attribute)
    asked = ", ".join(f"{n}={v:g}" for n, v in wish.to_dict().items() if isinstance(v, int | float))
    figures = f"The 95 % interval is {law.interval_width(0.95):.3g} wide. "
    bound = law.guarantee()
    epsilon = f"ε = {bound.epsilon:.3g}." if bound.reason is None else f"No finite ε holds: {bound.reason}."
    return f"Example: `{cls.__name__}({asked})` on {column}: {law.in_words()}. {figures}{epsilon}"


def _swept(cls: Any) -> str:
    """The settings that a trade-off tries by itself."""
    if not cls.sweep:
        return ""
    first, *others = cls.sweep.items()
    text = f"A trade-off tries {_values(*first)}"
    text += "".join(f", for each {_values(name, values)}" for name, values in cls.sweep_beside.items())
    return f"{text}. It can also sweep {' or '.join(f'`{name}`' for name, _ in others)}." if others else f"{text}."


def _values(name: str, values: Iterable[float]) -> str:
    return f"`{name}` = {', '.join(f'{v:g}' for v in values)}"


def methods() -> str:
    """Every guided method with its parameters."""
    from sfumato.guided import METHODS

    parts = []
    for name, cls in sorted(METHODS.items()):
        parts += [f"## {name}", prose(cls), _parameters(cls, defaults=True)]
    lead = (
        "A guided method changes values around a pattern of the whole table, so that the pattern stays. Choose it with "
        "`sfumato release --method NAME`, and set a parameter with `--set NAME=VALUE`. The [guide](../guide/guided.md) says which "
        "method keeps what."
    )
    return page("Guided methods", lead, filter(None, parts))


def _parameters(cls: Any, *, defaults: bool = False) -> str:
    values = {f.name: f.default for f in dataclasses.fields(cls)}
    rows = [[f"`{n}`", *([f"`{values.get(n)}`"] if defaults else []), about] for n, about in cls.parameters().items()]
    return table(["parameter", *(["default"] if defaults else []), "what it is"], rows)


def attacks() -> str:
    """Every attack: what it does and what it is granted."""
    from sfumato.attacks import ATTACKS

    parts = []
    for name, cls in sorted(ATTACKS.items()):
        parts += [f"## {name}", f"*{cls.title}.*", prose(cls), f"Granted: {cls.assumes}"]
    lead = (
        "An audit runs every attack that applies to a release. An attack sees the release, its manifest, and what is granted to it "
        "here; it never sees the original. The [audit guide](../guide/audit.md) says how success is measured."
    )
    return page("Attacks", lead, parts)


def errors() -> str:
    """Every class of error, with the exit code of the command line."""
    from sfumato.errors import SfumatoError, UsageError

    parts = []
    for cls in _descendants(SfumatoError):
        code = 2 if issubclass(cls, UsageError) else 1
        parent = "" if cls is SfumatoError else f" A kind of `{cls.__mro__[1].__name__}`."
        parts += [f"## {cls.__name__}", f"{prose(cls)}", f"Exit code {code}.{parent}"]
    lead = (
        "Every error meant for a person is a `sfumato.SfumatoError`. The command line prints its message without a traceback. The "
        "message names the column, the value and the next step."
    )
    return page("Errors", lead, parts)


def _descendants(cls: type) -> list[type]:
    return [cls, *(d for c in cls.__subclasses__() if c.__module__.startswith("sfumato") for d in _descendants(c))]


TOCTREE = "```{toctree}\n:hidden:\n:glob:\n\nSF*\n```"


def findings() -> dict[str, str]:
    """A page for each numbered finding, and their list."""
    from sfumato.findings import FINDINGS

    rooms = {"1": "Plans", "2": "Releases", "3": "Mining", "4": "Audits"}
    parts = []
    for digit, room in rooms.items():
        rows = [[f"[{c}]({c}.md)", e.title] for c, e in FINDINGS.items() if c[2] == digit]
        parts.append(f"## {room}\n\n{table(['code', 'title'], rows)}")
    lead = (
        "Everything that sfumato warns of has a number. The terminal shows it in brackets, JSON as `findings[].code`, a report beside "
        "each alarm. `sfumato explain SF102` prints the page in the terminal, and `sf.explain` returns it."
    )
    out = {"findings/README.md": page("Findings", lead, [*parts, TOCTREE])}
    for code, entry in FINDINGS.items():
        out[f"findings/{code}.md"] = page(
            f"{code}: {entry.title}", entry.meaning, [f"**What to do.** {entry.next_step}", "[All findings](README.md)"]
        )
    return out


PAGES: dict[str, Callable[[], str]] = {
    "api.md": api,
    "reference/verbs.md": verbs,
    "reference/laws.md": laws,
    "reference/methods.md": methods,
    "reference/attacks.md": attacks,
    "reference/errors.md": errors,
}


def pages() -> dict[str, str]:
    """Every generated page by its path below docs/."""
    for module in ("attacks", "channels", "guided", "engines", "errors"):
        importlib.import_module(f"sfumato.{module}")
    return {path: make() for path, make in PAGES.items()} | findings()


def main() -> None:
    """Write the pages that changed."""
    for path, text in pages().items():
        file = HERE / path
        file.parent.mkdir(exist_ok=True)
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")
            sys.stderr.write(f"wrote docs/{path}\n")


if __name__ == "__main__":
    main()
