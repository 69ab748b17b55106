"""The options of torchrun, as its own parser takes them (torch/distributed/run.py and launch.py of 2.13, argparse)."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

_MODULES: Final = ("torch.distributed.run", "torch.distributed.launch")
_TYPES: Final[Mapping[str, type]] = {
    "max-restarts": int, "monitor-interval": float, "node-rank": int, "master-port": int, "shutdown-timeout": int,
}  # fmt: skip
_WITH_VALUE: Final = (
    "nnodes", "nproc-per-node", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "max-restarts", "monitor-interval",
    "event-log-handler", "role", "log-dir", "local-ranks-filter", "duplicate-stdout-filters", "duplicate-stderr-filters",
    "node-rank", "master-addr", "master-port", "local-addr", "logs-specs", "numa-binding", "signals-to-handle",
    "shutdown-timeout",
)  # fmt: skip
_FLAGS: Final = ("standalone", "no-python", "run-path", "virtual-local-rank", "use-env")


class RefusedError(Exception):
    """What torchrun itself says of a command line that it does not take."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RefusedError(message)


def options_begin(words: Sequence[str]) -> int | None:
    """Where the options of torchrun begin in a command, also of `python -m torch.distributed.run`; None where it starts none."""
    for at, word in enumerate(words):
        if word.rpartition("/")[2] == "torchrun" or (
            word in _MODULES and at > 0 and re.fullmatch("-[A-Za-z]*m", words[at - 1])
        ):
            return at + 1
    return None


def torchrun_options(words: Sequence[str]) -> argparse.Namespace:
    """The words behind torchrun by option, with `script` and what is the script's own in `rest`; RefusedError."""
    return _parser().parse_args(list(words))


def _parser() -> _Parser:
    parser = _Parser(prog="torchrun", add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("-m", "--module", action="store_true")
    parser.add_argument("-r", "--redirects")
    parser.add_argument("-t", "--tee")
    parser.add_argument("--start-method", "--start_method", choices=("spawn", "fork", "forkserver"))
    for name in _WITH_VALUE:
        parser.add_argument(*_spellings(name), type=_TYPES.get(name, str))
    for name in _FLAGS:
        parser.add_argument(*_spellings(name), action="store_true")
    parser.add_argument("script")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    return parser


def _spellings(name: str) -> list[str]:
    return list(dict.fromkeys((f"--{name}", f"--{name.replace('-', '_')}")))
