"""Which functions of sfumato a run calls, in the order in which each is first called.

    python -m tests.support.trace release iris -o /tmp/r --key /tmp/k

prints them, one per line, for whoever writes docs/walk.md.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import sfumato

SOURCE = str(Path(sfumato.__file__).parent) + "/"


def first_calls(run: Callable[[], Any]) -> list[str]:
    """Dotted names below sfumato, such as `channels.base.Channel.perturb`, in the order of their first calls."""
    for module in pkgutil.walk_packages(sfumato.__path__, "sfumato."):
        if module.name != "sfumato.__main__":
            importlib.import_module(module.name)  # what runs on import is no part of the way
    seen: dict[str, None] = {}

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            module = frame.f_code.co_filename.removeprefix(SOURCE).removesuffix(".py").removesuffix("/__init__")
            seen.setdefault(f"{module.replace('/', '.')}.{frame.f_code.co_qualname}")

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(seen)


if __name__ == "__main__":
    from sfumato.cli import main

    def command() -> None:
        """Run the words of the command line."""
        with suppress(SystemExit):
            main(sys.argv[1:])

    for name in first_calls(command):
        if "<" not in name:
            sys.stdout.write(f"{name}\n")
