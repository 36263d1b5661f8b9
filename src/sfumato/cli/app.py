"""The `sfumato` command: its verbs, loaded when called, and one place where errors become words and exit codes."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

VERBS = {
    "demo": "The main job end to end on bundled data, with a report to open.",
    "generate": "Write a synthetic table: agrawal (functions 1 to 10), plateau, triangles.",
    "plan": "Look at a table and propose a plan that a person can edit.",
    "release": "Turn a table into a release: blurred data and a public statement of the noise.",
    "publish": "Make a draft final: a release that may be passed on.",
    "withdraw": "Remove a draft that is not to be published.",
    "sign": "Sign a release, so that recipients can tell who made it and that it is whole.",
    "verify": "Check a release against its signature.",
    "describe": "What a release says about itself: laws, privacy in every unit, cautions.",
    "certify": "Prove the laws of a release: exact tables and amplification, for anyone to check.",
    "associate": "Which columns go together: a table with its test, correlations, itemsets and rules.",
    "fit": "A regression on the true values behind a release.",
    "reconstruct": "The true distributions behind a release, with their uncertainty.",
    "ask": "A question in SQL, answered from a release with error bars.",
    "draws": "Tables of plausible true rows behind a release, to be analysed like any table.",
    "synthesise": "A synthetic twin of the table behind a release, and how close it is.",
    "mine": "Grow a decision tree from a release.",
    "power": "Planning without data: rows for an error, or the error of rows.",
    "predict": "Apply a model to true values.",
    "evaluate": "Scores of a model on true values, beside guessing.",
    "audit": "Privacy promised beside privacy left after real attacks, as a report.",
    "cluster": "The clusters of a release.",
    "compare": "Trees and clusters of the original beside those of its release.",
    "tradeoff": "Privacy against accuracy on your own table, to choose from.",
    "compare-plans": "Two plans or drafts side by side: privacy left, people found, utility.",
    "reproduce": "A published experiment, its tables and figures beside ours.",
    "explain": "What a code such as SF102 means, and what to do about it.",
}
"""Every verb, and what it does; `cli/<verb>.py` holds it, with _ for -."""


class Verbs(click.Group):
    """Verbs that are imported only when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """List the verbs in the order in which they are used."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module of one verb."""
        return load_verb(cmd_name) if cmd_name in VERBS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of verbs without importing any."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run one verb; an error of the library is told in the words of its options."""
        from sfumato.errors import SfumatoError, UsageError

        try:
            with _show_drafts():
                return super().invoke(ctx)
        except SfumatoError as error:
            from sfumato.cli.output import name_options

            words = name_options(str(error), ctx.invoked_subcommand)
            raise Failure(words, 2 if isinstance(error, UsageError) else 1) from error


@contextmanager
def _show_drafts() -> Iterator[None]:
    """Say it in a line of our own where a folder that is read is a draft."""
    import warnings

    from sfumato.cli.output import warn
    from sfumato.errors import DraftWarning
    from sfumato.findings import Note

    def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, *rest: Any) -> None:
        if isinstance(message, DraftWarning):
            warn(Note("SF311", str(message)))
        else:
            usual(message, category, filename, lineno, *rest)

    with warnings.catch_warnings():
        usual, warnings.showwarning = warnings.showwarning, show  # type: ignore[assignment]  # Python gives no names to the rest
        warnings.simplefilter("always", DraftWarning)
        yield


class Failure(click.ClickException):
    """An error that is meant for a person, in one line."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.exit_code = code  # type: ignore[misc]  # click reads it from the instance

    def show(self, file: Any = None) -> None:  # noqa: ARG002
        """Print the line on stderr."""
        from sfumato.text import visible

        click.echo(f"error: {visible(self.message)}", err=True)


def load_verb(name: str) -> click.Command:
    """Return the command of one verb."""
    module = name.replace("-", "_")
    command: click.Command = getattr(importlib.import_module(f"sfumato.cli.{module}"), module)
    return command


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with:  sfumato demo        Then:  sfumato plan my.csv -o plan.toml",
)
@click.version_option(package_name="sfumato")
def cli() -> None:
    """Blur every value, keep the patterns: privacy-preserving data mining by perturbation."""


@contextmanager
def _stop_on_termination() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does: what is half written is removed."""

    def stop(_signal: int, _frame: Any) -> None:
        raise SystemExit(143)  # 128 + 15, as a shell reports it

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _prepare_streams() -> None:
    """Write what a terminal cannot show as escapes: a word in another alphabet must not end the work."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _drop_stdout() -> None:
    """Discard what stdout still holds, so that closing it cannot fail."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit 0 when done, 1 when the work failed with a message, 2 when it was asked wrongly."""
    _prepare_streams()
    try:
        with _stop_on_termination():
            code: Any = cli.main(arguments, prog_name="sfumato", standalone_mode=False)
        sys.stdout.flush()  # a full disk is told here, not by the interpreter on its way out
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped; nothing was written", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        with suppress(OSError):
            click.echo(f"error: {where}{error.strerror or error}; free the place, or name another", err=True)
        _drop_stdout()
        sys.exit(1)
    except MemoryError:
        click.echo("error: the machine ran out of memory; nothing was written", err=True)
        sys.exit(1)
