"""The file that run.py keeps cells in, and what they were measured on."""
import json
import os
import shutil
import subprocess
import tempfile
import time

from commands import Clock, call
from common import ROOT

OPTIONS = ("backend", "cost", "search_seconds", "peer_device", "python")
SETTING = ("commit", *OPTIONS, "devices")  # one for all cells of a file


def write(path, table):
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as scratch:
        json.dump(table, scratch, indent=1, sort_keys=True)
        scratch.write("\n")
    os.replace(scratch.name, path)


def this_commit():
    """Of an unpacked archive (cmake/bundle.sh) or of a repository; "" where neither is here."""
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


def other_setting(table, now):
    """What else the cells of a table were measured by, "" where it is nothing else."""
    then = table.get("environment", {})
    other = [key for key in SETTING if key not in then or then[key] != now[key]] if table["cells"] else []
    return ", ".join("other devices" if key == "devices" else
                     f"{key} {then.get(key, 'unknown')}, not {now[key]}" for key in other)
