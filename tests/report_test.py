#!/usr/bin/env python3
"""The page of `tg report`, in a browser: it needs no network, draws all its parts, of a small network and
of a large one, nothing on top of anything else, and neither a laptop's width nor a wide one makes it scroll
sideways. What a trace says is what the report says, of every strategy; a trace that is damaged makes no page. Without
a headless Chromium (Debian: chromium) only the page
itself is looked at, and the test says so.

    report_test.py build/tg
"""
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SEARCHED = ["--search", "mcts", "--without", "saturation", "--node-limit", "200", "--budget", "16"]
LARGE = ["--search", "anneal", "--rules", "fuse", "--budget", "200", "--time-limit", "600"]
FEW = ["--without", "saturation", "--node-limit", "200", "--budget", "16"]
STRATEGIES = {
    "mcts": FEW,
    "pact24": ["--search", "mcts", "--mcts-profile", "pact24", "--budget", "4", "--node-limit", "200"],
    "saturate": ["--search", "saturate"],
    "random": ["--search", "random", "--budget", "8", "--node-limit", "200"],
    "anneal": ["--search", "anneal", "--budget", "100"],
    "taso": ["--search", "taso", "--budget", "10"],
}
PARTS = ["cost", "heat", "tree", "chain", "source", "result"]
PROBE = """<script>{
const all = selector => [...document.querySelectorAll(selector)];
const rows = graph => { const rows = {}; all(`#${graph} .drawing rect`).forEach(r => (rows[r.y.baseVal.value] ??= []).push(r.getBBox())); return Object.values(rows); };
const apart = row => row.sort((a, b) => a.x - b.x).every((r, i) => i == 0 || row[i - 1].x + row[i - 1].width < r.x);
const within = text => text.getComputedTextLength() < text.previousSibling.width.baseVal.value;
const kept = new Set(all(".drawing .node:not(.changed) rect").map(r => getComputedStyle(r).fill));
const map = document.querySelector("#heat .box");
document.title = JSON.stringify({
  "the script ended": document.body.dataset.ready == "yes",
  "the page is no wider than the window": document.documentElement.scrollWidth <= innerWidth,
  "the page uses the width of the window": document.querySelector("header").offsetWidth > 0.9 * innerWidth,
  "the parts are drawn": all("svg").length >= 4,
  "the rules over time fit": !map || map.scrollWidth <= map.clientWidth,
  "source and result are side by side": new Set(["source", "result"].map(id => document.getElementById(id).getBoundingClientRect().top)).size == 1,
  "every operator is drawn and listed": all(".drawing .node").length == all(".graph div").length && all(".graph div").length > 4,
  "no operator is drawn over another": ["source", "result"].every(graph => rows(graph).every(apart)),
  "names are within their boxes": all(".drawing .node text").every(within),
  "what changed is coloured in the drawing": all(".drawing .changed").length > 0 &&
    all(".drawing .changed rect").every(r => !kept.has(getComputedStyle(r).fill)),
  "and in the list": all(".graph .changed").length == all(".drawing .changed").length &&
    all(".graph .changed").every(e => getComputedStyle(e).backgroundColor != getComputedStyle(e.parentElement).backgroundColor),
});
}</script>"""


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
    told = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", dom).group(1)))
    assert len(told) > 8
    for claim, holds in told.items():
        assert holds, f"{page.stem}, width {width}: not so: {claim}"


def report(tg, folder, model, options):
    """The trace and the page of a search that begins with what the same search learned."""
    trace, page = folder / f"{model.stem}.json", folder / f"{model.stem}.html"
    if "mcts" in options:
        priors = folder / "priors.json"
        run(tg, "opt", model, *options, "--save-priors", priors, "--quiet")
        options = [*options, "--priors", priors]
        told = json.loads(run(tg, "opt", model, *options, "--json"))
        assert told["priors"] == str(priors), "priors are input, and the report says which"
    run(tg, "opt", model, *options, "--trace", trace, "--quiet")
    run(tg, "report", trace, "-o", page)
    return trace, page


def facts_hold(tg, folder, name, options):
    """Of one strategy: figures and trace agree, and being watched changes none of them."""
    trace = folder / f"{name}.json"
    command = [tg, "opt", EXAMPLES / "residual.tg", "--cost", "analytic:a100", *options]
    alone = json.loads(run(*command, "--json"))
    run(*command, "--trace", trace, "--quiet")
    told = json.loads(trace.read_text())
    report, points = told["report"], told["points"]
    assert report["rules_applied"] == alone["rules_applied"], f"{name}: {alone['rules_applied']} became {report}"
    assert sum(report["chain_steps"].values()) == len(told["chain"]), name
    assert points[0]["cost_us"] == report["cost_before_us"], f"{name}: the curve begins with {points[0]}"
    assert points[-1]["cost_us"] == min(p["cost_us"] for p in points) == report["cost_after_us"], f"{name}: {points}"
    assert len(points) > (3 if name in ("mcts", "pact24") else 1), f"{name}: {points}"
    assert told["applications"], f"{name}: no rule was applied"
    assert all(cell[0] < told["columns"] for rule in told["applications"] for cell in rule["cells"]), name
    assert told["columns"] > 1, f"{name}: one column"
    roots = [node for node in told["tree"] if node["parent"] < 0]
    assert all(root["nodes"] > 0 for root in roots), f"{name}: a tree without e-nodes"
    if roots:
        assert 0 < report["decisions"] <= len(roots), f"{name}: {report['decisions']} decisions"
        assert points[-1]["simulations"] == report["simulations"], f"{name}: {points[-1]}"


def damage_is_refused(tg, folder, trace):
    whole = json.loads(trace.read_text())
    bad = folder / "bad.json"
    for key in ["report", "points", "columns", "applications", "tree", "steps", "source", "result"]:
        for text in (json.dumps({k: v for k, v in whole.items() if k != key}), json.dumps({**whole, key: "str"})):
            bad.write_text(text)
            done = subprocess.run([str(tg), "report", str(bad), "-o", str(folder / "bad.html")], capture_output=True, text=True, timeout=60)
            assert done.returncode != 0 and str(bad) in done.stderr and f"trace.{key}" in done.stderr, f"{key}: {done}"
    assert not (folder / "bad.html").exists()


def main():
    tg = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        trace, page = report(tg, Path(folder), EXAMPLES / "residual.tg", SEARCHED)
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
        damage_is_refused(tg, Path(folder), trace)
        for name, options in STRATEGIES.items():
            facts_hold(tg, Path(folder), name, options)
        browser = shutil.which("chromium") or shutil.which("chromium-browser")
        if not browser:
            print("no chromium here: the page was not drawn")
            return
        _, large = report(tg, Path(folder), EXAMPLES / "paper" / "nasneta.tg", LARGE)
        for width in (1280, 2560):
            in_browser(browser, page, width)
            in_browser(browser, large, width)
        print("drawn at 1280 and 2560 pixels")


if __name__ == "__main__":
    main()
