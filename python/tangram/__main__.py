"""The command `tangram`, also `python -m tangram`."""

from __future__ import annotations

import argparse
import sys

from . import Error, __version__, simplify
from ._runtimes import RUNTIMES


def _size(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    return name, int(size)


def _shape(text: str) -> tuple[str, list[int]]:
    name, _, sizes = text.partition("=")
    return name, [int(size) for size in sizes.split(",")]


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    top = argparse.ArgumentParser(prog="tangram", description="Optimises neural networks.")
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(dest="command", required=True)
    one = commands.add_parser("simplify", help="optimise an ONNX file for a runtime; keep the original unless the result is faster")
    one.add_argument("source", help="the .onnx file to optimise")
    one.add_argument("target", help="the .onnx file to write")
    one.add_argument("--runtime", choices=list(RUNTIMES), default="onnxruntime")
    one.add_argument("--shape", type=_shape, action="append", default=[], metavar="NAME=1,3,224,224")
    one.add_argument("--dim", type=_size, action="append", default=[], metavar="NAME=N")
    one.add_argument("--threads", type=int, default=0, help="number of threads (default: that of the runtime)")
    one.add_argument("--time-limit", type=float, help="seconds for the search")
    return top


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit code: 0, or 1 after an error, which it prints."""
    args = parser().parse_args(arguments)
    options = {} if args.time_limit is None else {"time_limit": args.time_limit}
    try:
        done = simplify(args.source, args.target, runtime=args.runtime, shapes=dict(args.shape),
                        dims=dict(args.dim), threads=args.threads, **options)
    except (Error, OSError, ValueError, ImportError) as error:
        print(f"tangram: {error}", file=sys.stderr)
        return 1
    print(done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
