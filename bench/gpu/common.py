"""Shared by run.py and peers.py: the path of the program, the networks, dtypes and peers, and types of options
that reject invalid values."""
import argparse
import math
import os
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NETWORKS = {
    "resnet50": "examples/resnet50.tg",
    "bert_base": "examples/bert_base.tg",
    "vit_base": "examples/vit_base.tg",
    "mobilenetv2": "examples/mobilenetv2.tg",
    "squeezenet": "examples/squeezenet.tg",
    "nasrnn": "examples/paper/nasrnn.tg",
}
DTYPES = ("f16", "f32", "tf32", "bf16")
PEERS = ("eager", "graph", "compile", "max-autotune", "frozen", "jax")


def built_program():
    """Returns the newest program of a repository, or that of an unpacked archive, or ""."""
    places = [ROOT / folder / "tg" for folder in ("build", "build-release", "bin")]
    built = [tg for tg in places if tg.exists()]
    return str(max(built, key=lambda tg: tg.stat().st_mtime)) if built else ""


# --- types of options ---------------------------------------------------------------------------


def refuse(why):
    raise argparse.ArgumentTypeError(why)


def program(text):
    """Returns the absolute path. Links are kept, because Python finds its packages by them."""
    found = shutil.which(text)
    return os.path.abspath(found) if found else refuse(
        f"no program {text}" if text else "none is built: ./dev build")


def count(text):
    return int(text) if text.isdecimal() and int(text) > 0 else refuse(f"{text} is not a positive integer")


def seconds(text, zero_too=False):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if 0 < value < math.inf or (zero_too and value == 0):
        return value
    return refuse(f"{text} is not a number of seconds")


def one_of(what, names):
    return lambda text: text if text in names else refuse(
        f"no {what} {text}; there are {', '.join(names)}")


def table_file(text):
    return Path(text) if not text.endswith(".md") else refuse(f"{text}: the page is written there")


def listed(one):
    """Returns the type of a comma-separated list without duplicates."""
    return lambda text: list(dict.fromkeys(map(one, text.split(","))))
