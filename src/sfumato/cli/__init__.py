"""The command line: parse, call one public function, show. No arithmetic here, and nothing heavy is imported for --help."""

from sfumato.cli.app import main

__all__ = ["main"]
