"""The `sfumato` command: its verbs, loaded when called, and one place where errors become words and exit codes."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

VERBS = {
    "demo": ("demo", "The main job end to end on bundled data, with a report to open."),
    "generate": ("owner", "Write a synthetic table: agrawal (functions 1 to 10), plateau, triangles."),
    "plan": ("owner", "Look at a table and propose a plan that a person can edit."),
    "release": ("owner", "Turn a table into a release: blurred data and a public statement of the noise."),
    "describe": ("owner", "What a release says about itself: laws, privacy in every unit, cautions."),
    "reconstruct": ("miner", "The true distributions behind a release, with their uncertainty."),
    "mine": ("miner", "Grow a decision tree from a release."),
    "predict": ("miner", "Apply a model to true values."),
    "evaluate": ("miner", "The accuracy of a model on true values."),
    "audit": ("auditor", "Privacy promised beside privacy left after real attacks, as a report."),
    "cluster": ("patterns", "The clusters of a release."),
    "compare": ("patterns", "Trees and clusters of the original beside those of its release."),
    "tradeoff": ("chooser", "Privacy against accuracy on your own table, to choose from."),
    "reproduce": ("papers", "A published experiment, its tables and figures beside ours."),
    "explain": ("explain", "What a code such as SF102 means, and what to do about it."),
}


class Verbs(click.Group):
    """Verbs that are imported only when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All verbs, in the order in which they are used."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module of one verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"sfumato.cli.{VERBS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of verbs without importing any."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, about) for name, (_, about) in VERBS.items()])


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with:  sfumato demo        Then:  sfumato plan my.csv -o plan.toml",
)
@click.version_option(package_name="sfumato")
def cli() -> None:
    """Blur every value, keep the patterns: privacy-preserving data mining by perturbation."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit 0 when done, 1 when the work failed with a message, 2 when it was asked wrongly."""
    from sfumato.errors import SfumatoError, UsageError

    try:
        code: Any = cli.main(arguments, prog_name="sfumato", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped; nothing was written", err=True)
        sys.exit(130)
    except SfumatoError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except MemoryError:
        click.echo("error: the machine ran out of memory; nothing was written", err=True)
        sys.exit(1)
