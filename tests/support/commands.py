"""Checks as commands: ``python -m tests.PACKAGE CHECK``, with an option for each parameter of the check."""

from __future__ import annotations

import random
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from inspect import getdoc, signature
from pkgutil import resolve_name


def run_check(program: str, checks: Mapping[str, str], arguments: Sequence[str]) -> int:
    """Runs the check that the first argument names, and returns its exit code.

    ``checks`` names functions as ``module:function``; the one that is run is imported. An option has the type of the
    parameter's default; a tuple takes several words. A ``seed`` that is not given is random, and is printed.
    """
    parser = ArgumentParser(prog=f"python -m {program}")
    parser.add_argument("check", choices=list(checks))
    chosen = parser.parse_args(arguments[:1]).check
    check: Callable[..., int] = resolve_name(checks[chosen])
    parser = ArgumentParser(prog=f"{parser.prog} {chosen}", description=getdoc(check))
    for parameter in signature(check).parameters.values():
        option, default = f"--{parameter.name.replace('_', '-')}", parameter.default
        if isinstance(default, bool):
            parser.add_argument(option, action="store_true")
        elif isinstance(default, tuple):
            parser.add_argument(option, nargs="+", choices=default, default=default)
        elif parameter.name == "seed":
            parser.add_argument(option, type=int, default=random.SystemRandom().randrange(2**32))
        else:
            parser.add_argument(option, type=type(default), default=default, help="%(default)s")
    options = vars(parser.parse_args(arguments[1:]))
    if "seed" in options:
        print(f"seed {options['seed']}", flush=True)
    return check(**options)
