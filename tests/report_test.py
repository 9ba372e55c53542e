#!/usr/bin/env python3
"""The page of `tg report`, in a browser: it needs no network, draws all its parts, and neither a laptop's
width nor a wide one makes it scroll sideways. Without a headless Chromium (Debian: chromium) only the page
itself is looked at, and the test says so.

    report_test.py build/tg
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MODEL = Path(__file__).resolve().parent.parent / "examples" / "residual.tg"
PARTS = ["cost", "heat", "tree", "chain", "source", "result"]
PROBE = """<script>document.title = [document.body.dataset.ready,
document.documentElement.scrollWidth <= window.innerWidth,
document.querySelectorAll("svg").length, document.querySelectorAll(".graph div").length,
["source", "result"].map(id => document.getElementById(id).getBoundingClientRect().top).every((y, i, all) => y == all[0]),
[...document.querySelectorAll(".graph .changed")].filter(e => getComputedStyle(e).backgroundColor !=
getComputedStyle(e.parentElement).backgroundColor).length].join(" ")</script>"""


def run(*command, timeout=300):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stderr}")
    return done.stdout


def in_browser(browser, page, width):
    probed = page.with_suffix(f".{width}.html")
    probed.write_text(page.read_text() + PROBE)
    dom = run(browser, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900",
              "--virtual-time-budget=5000", "--dump-dom", probed.as_uri())
    for part in PARTS:
        assert f'<section id="{part}"' in dom, f"width {width}: no part {part}"
    ready, fits, drawings, lines, beside, coloured = re.search(r"<title>(.*?)</title>", dom).group(1).split()
    assert ready == "yes", f"width {width}: the script did not end"
    assert fits == "true", f"width {width}: the page is wider than the window"
    assert beside == "true", f"width {width}: source and result are not side by side"
    assert int(coloured) > 0, f"width {width}: what changed is not coloured"
    assert int(drawings) >= 3 and int(lines) > 4, f"width {width}: {drawings} drawings, {lines} lines"


def main():
    tg = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        trace, page = Path(folder) / "trace.json", Path(folder) / "report.html"
        run(tg, "opt", MODEL, "--search", "mcts", "--without", "saturation", "--node-limit", "200",
            "--budget", "16", "--trace", trace, "--quiet")
        run(tg, "report", trace, "-o", page)
        text = page.read_text()
        # The name of the SVG name space is the only address.
        links = [a for a in re.findall(r"https?://[^\"'\s)]+", text) if "www.w3.org/2000/svg" not in a]
        assert not links, f"the page speaks of {links}"
        data = re.search(r'<script type="application/json" id="trace">(.*?)</script>', text, re.S).group(1)
        assert json.loads(data)["tangram_trace"] == 1
        assert json.loads(data) == json.loads(trace.read_text())
        told = json.loads(data)
        places = [node["where"] for node in told["tree"] if node["rule"]]
        places += [place for rule in told["applications"] for cell in rule["cells"] for place in cell[2]]
        assert any(re.search(r"\bf32\[.*\] of \w", place) for place in places), "no action names its place"
        browser = shutil.which("chromium") or shutil.which("chromium-browser")
        if not browser:
            print("no chromium here: the page was not drawn")
            return
        for width in (1280, 2560):
            in_browser(browser, page, width)
        print("drawn at 1280 and 2560 pixels")


if __name__ == "__main__":
    main()
