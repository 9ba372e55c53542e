"""The file of run.py's cells: its permitted content, and the setting in which the cells were measured."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

from commands import Clock, call
from common import DTYPES, NETWORKS, ROOT

OPTIONS = ("backend", "cost", "search_seconds", "peer_device", "python")
SETTING = (*OPTIONS, "devices")  # the same for all cells of a file

_DTYPE, _NETWORK = (f"({'|'.join(names)})" for names in (DTYPES, NETWORKS))
NAMES = re.compile(f"correct/{_DTYPE}/.+|latency/[1-9][0-9]{{0,8}}/{_DTYPE}/{_NETWORK}/[^/]+|"
                   f"load/{_NETWORK}|steps/{_DTYPE}/{_NETWORK}|sanitize/.+")
#: Required fields of a successful cell, by part.
HOLDS = {"correct": ("max_rel_diff",), "latency": ("median_us", "p10_us", "p90_us"),
         "load": ("cold_s", "warm_s"), "steps": ("steps",), "sanitize": ("summary",)}


def is_number(value):
    return isinstance(value, (int, float)) and abs(value) < 1e15  # above all measured values


def is_time(value):
    return is_number(value) and value > 0


def is_text(value):
    return isinstance(value, str)


def are_steps(value):
    return isinstance(value, dict) and all(": " in how and is_number(n) for how, n in value.items())


#: Checks of the fields that the table uses. Other fields are not checked.
KINDS = {**dict.fromkeys(("median_us", "p10_us", "p90_us", "cold_s", "warm_s"), is_time),
         **dict.fromkeys(("sum_error", "predicted_error", "tries"), is_number),
         **dict.fromkeys(("error", "skipped", "summary"), is_text),
         "steps": are_steps, "versions": lambda value: isinstance(value, dict)}


def fault(name, cell):
    """Returns the fault of a cell, or ""."""
    if not NAMES.fullmatch(name):
        return "unknown cell"
    if not isinstance(cell, dict):
        return "is not an object"
    for key, is_right in KINDS.items():
        if key in cell and not is_right(cell[key]):
            return f"{key} cannot be {cell[key]!r:.40}"
    missing = [key for key in HOLDS[name.split("/")[0]] if key not in cell]
    return f"has no {missing[0]}" if missing and not {"error", "skipped"} & cell.keys() else ""


def stop(path, why):
    sys.exit(f"{path}: {why}")


def load(path):
    """Reads the file; a missing file is an empty table."""
    try:
        if not path.exists():
            return {"cells": {}}
        if not path.is_file():
            stop(path, "no regular file")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        stop(path, problem.strerror)
    except (ValueError, RecursionError) as problem:
        stop(path, f"no JSON: {problem}")


def read(path, now):
    """Reads the table. Exits if it is damaged or has another setting, so that it is never extended."""
    table = load(path)
    if not isinstance(table, dict) or not isinstance(table.get("cells"), dict) or not isinstance(
            table.get("environment", {}), dict):
        stop(path, "no table of cells")
    if other := other_setting(table, now):
        stop(path, f"its cells are of {other}: give another --json, or remove it")
    for name, cell in table["cells"].items():
        if why := fault(name, cell):
            stop(path, f"{name}: {why}")
    return {**table, "environment": now}


def write(path, text):
    """Writes the file atomically. A symbolic link is kept."""
    try:
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = target.with_name(f"{target.name}.{os.getpid()}")
        try:
            scratch.write_text(text, encoding="utf-8")
            os.replace(scratch, target)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as problem:
        stop(path, f"cannot be written: {problem.strerror}")


def this_commit():
    """Returns the commit of an unpacked archive (./dev bundle) or of a repository, or ""."""
    if (ROOT / "COMMIT").exists():
        return (ROOT / "COMMIT").read_text().strip()
    if not shutil.which("git"):
        return ""
    return subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
                          capture_output=True, text=True).stdout.strip()


def environment(options):
    return {"commit": this_commit(), "date": time.strftime("%Y-%m-%d"), "load": os.getloadavg()[0],
            "devices": call(Clock(120), [options.tg, "devices", "--json"]),
            **{key: getattr(options, key) for key in OPTIONS}}


def device_names(about):
    """Returns the names of the devices. Library versions are left out: they belong to the program's commit."""
    return [device.get("name") for device in about["devices"].get("devices", [])]


def other_setting(table, now):
    """Describes how the setting of a table's cells differs from the current one, or returns ""."""
    then = table.get("environment", {})
    of = lambda about, key: device_names(about) if key == "devices" else about[key]
    differs = lambda key: key not in then or of(then, key) != of(now, key)
    say = lambda key: ("other devices" if key == "devices" else
                       f"{key} {then.get(key, 'unknown')}, not {now[key]}")
    return ", ".join(say(key) for key in SETTING if differs(key)) if table["cells"] else ""
