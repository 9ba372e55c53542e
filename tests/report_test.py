#!/usr/bin/env python3
"""Tests the page of `tg report` in a browser, for a small network, a large network and an unsuccessful search, on a
telephone, a laptop and a wide screen, light and dark. The page requires no network and draws all its parts. Elements do
not overlap and stay within their drawings. Drawings zoom, and everything can be reached by keyboard. With every
strategy the trace agrees with the report. A damaged trace gives no page. Without a headless Chromium (Debian: chromium)
only the text of the page is checked, and a line says so.

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
from xml.etree import ElementTree

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SEARCHED = ["--search", "mcts", "--without", "saturation", "--node-limit", "200", "--budget", "16"]
LARGE = ["--search", "anneal", "--rules", "fuse", "--budget", "200", "--time-limit", "600"]
FEW = ["--without", "saturation", "--node-limit", "200", "--budget", "16"]
STRATEGIES = {
    "mcts": FEW,
    "pact24": ["--search", "mcts", "--mcts-profile", "pact24", "--budget", "4", "--node-limit", "200", "--seed", "2"],
    "saturate": ["--search", "saturate"],
    "random": ["--search", "random", "--budget", "8", "--node-limit", "200"],
    "anneal": ["--search", "anneal", "--budget", "100"],
    "taso": ["--search", "taso", "--budget", "10"],
}
# Width, height and colour scheme of a window.
WINDOWS = [(390, 844, "light"), (1280, 800, "dark"), (1920, 1080, "light")]
ODD = """# Names that are long, and that a page could take for its own.
model a_model_with_quite_a_long_name_that_has_to_be_wrapped_somewhere(x: f32[1, 8]) {
  param w: f32[8, 8] = weight("a.very.long.path/of</template></script><b>layers[12]&amp;.weight")
  x @ w
}
"""
PROBE = """<script>{
const all = selector => [...document.querySelectorAll(selector)];
const graph = id => document.querySelector(`#${id} .drawing svg`);
const boxes = svg => [...svg.querySelectorAll(".node")].map(node => ({id: node.dataset.node, box: node.querySelector("rect").getBBox()}));
const inside = (p, b) => p.x > b.x + 1 && p.x < b.x + b.width - 1 && p.y > b.y + 1 && p.y < b.y + b.height - 1;
const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
const apart = svg => { const list = boxes(svg); return list.every((a, i) => list.slice(i + 1).every(b => !overlap(a.box, b.box))); };
const within = (b, svg) => { const v = svg.viewBox.baseVal; return b.x >= 0 && b.y >= 0 && b.x + b.width <= v.width && b.y + b.height <= v.height; };
const clear = svg => { const list = boxes(svg); return [...svg.querySelectorAll(".edge")].every(edge => {
  const length = edge.getTotalLength();
  for (let k = 1; k < 24; ++k) { const p = edge.getPointAtLength(length * k / 24);
    if (list.some(({id, box}) => id != edge.dataset.from && id != edge.dataset.to && inside(p, box))) return false; }
  return true; }); };
const svgs = all(".drawing svg");
const rgb = text => text.match(/[0-9.]+/g).map(Number);
const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
const contrast = (a, b) => { const [x, y] = [light(rgb(a)), light(rgb(b))].sort((p, q) => q - p); return (x + .05) / (y + .05); };
const readable = () => { const card = getComputedStyle(document.querySelector("section")).backgroundColor;
  const ink = e => getComputedStyle(e).fill != "rgb(0, 0, 0)" && e.closest("svg") ? getComputedStyle(e).fill : getComputedStyle(e).color;
  return all("h1, h2, dt, dd, p, button, .legend li, svg text").every(e => contrast(ink(e), e.closest(".changed") ? getComputedStyle(e.closest(".changed").querySelector("rect") ?? e).fill : card) >= 4.5); };
const zooms = () => all(".drawing").every(box => { const svg = box.firstChild, before = +svg.getAttribute("width");
  box.previousSibling.querySelector("[title='zoom in']").click(); const larger = +svg.getAttribute("width");
  box.dispatchEvent(new KeyboardEvent("keydown", {key: "1", bubbles: true})); const own = +svg.getAttribute("width");
  box.dispatchEvent(new KeyboardEvent("keydown", {key: "0", bubbles: true}));
  return larger > before && Math.abs(own - svg.viewBox.baseVal.width) < 1 && +svg.getAttribute("width") <= box.clientWidth; });
const dark = () => light(rgb(getComputedStyle(document.body).backgroundColor)) < .2;
const button = document.querySelector(".top button");
const forms = [dark()];
const legible = [readable()];
for (let i = 0; i < 3; ++i) { button.click(); forms.push(dark()); legible.push(readable()); }
const expect = EXPECT;
const told = {
  "the script ended": document.body.dataset.ready == "yes",
  "all parts are there": ["cost", "heat", "tree", "chain", "source", "result"].every(id => document.querySelector(`section#${id}`)),
  "the title names the model": document.title.startsWith(document.querySelector("h1").textContent + " - "),
  "the page fits the width of the window": document.documentElement.scrollWidth <= innerWidth,
  "the page uses the width of the window": document.querySelector("header").offsetWidth > 0.9 * innerWidth,
  "the parts are drawn": svgs.length == 2 && all("#cost svg").length > 0,
  "the rules over time fit": all("#heat .box").every(b => b.scrollWidth <= b.clientWidth),
  "source and result are side by side in a wide window": (new Set(["source", "result"].map(id => document.getElementById(id).getBoundingClientRect().top)).size == 1) == (innerWidth >= 1100),
  "every operator is drawn and listed": all(".drawing .node").length == all(".lines div").length && all(".lines div").length >= 4,
  "no operator is drawn over another": svgs.every(apart),
  "everything is inside its drawing": svgs.every(svg => [...svg.querySelectorAll(".edge, .node")].every(e => within(e.getBBox(), svg))),
  "no edge runs through an operator": svgs.every(clear),
  "texts are within their boxes": all(".drawing .node text").every(t => t.getComputedTextLength() < t.parentNode.querySelector("rect").width.baseVal.value),
  "every operator shows its shape": all(".drawing .node").every(n => /f32|f16|bf16|bool|i32|i64/.test(n.querySelector(".type")?.textContent ?? "")),
  "operators show their weights": all(".drawing .weight").length > 0,
  "changed operators are coloured in the drawing and in the list": all(".lines .changed").length == all(".drawing .changed").length && (all(".lines .changed").length > 0) == expect.changed,
  "drawings and charts have legends": ["cost", "source", "result"].every(id => document.querySelector(`#${id} .legend`)),
  "drawings zoom by button and by key": zooms(),
  "scrolling boxes are named and can be reached by keyboard": all(".drawing, .box").every(b => b.tabIndex == 0 && b.getAttribute("aria-label")),
  "drawings, charts and buttons are named": all("svg[role=img]").every(s => s.getAttribute("aria-label")) && all("button, select").every(b => b.textContent.trim() || b.getAttribute("aria-label")),
  "the page starts with the colours of the system": forms[0] == expect.dark,
  "the switch has a light and a dark theme": forms.includes(true) && forms.includes(false) && forms[3] == forms[0],
  "texts are readable in all themes": legible.every(x => x),
};
parent.postMessage(JSON.stringify(told), "*");
}</script>"""
FRAME = """<!doctype html><title>nothing</title><body style="margin:0">
<iframe src="{page}" style="border:0;width:{width}px;height:{height}px"></iframe>
<script>addEventListener("message", e => document.title = e.data)</script>"""


def run(*command, timeout=300):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stderr}")
    return done.stdout


def in_browser(browser, page, window, changed=True):
    """Checks the page in a frame of this size, because a browser window cannot be as narrow as a telephone."""
    width, height, colours = window
    probed, frame = page.with_suffix(f".{width}.html"), page.with_suffix(f".{width}.frame.html")
    expected = json.dumps({"dark": colours == "dark", "changed": changed})
    probed.write_text(page.read_text() + PROBE.replace("EXPECT", expected))
    frame.write_text(FRAME.format(page=probed.name, width=width, height=height))
    dom = run(browser, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={max(width, 500)},{height}",
              f"--blink-settings=preferredColorScheme={0 if colours == 'dark' else 1}",
              "--virtual-time-budget=10000", "--dump-dom", frame.as_uri())
    title = html.unescape(re.search(r"<title>(.*?)</title>", dom, re.S).group(1))
    assert title != "nothing", f"{page.stem}, width {width}: the page ended before it was looked at"
    told = json.loads(title)
    assert len(told) > 20
    wrong = [claim for claim, holds in told.items() if not holds]
    assert not wrong, f"{page.stem}, width {width}, {colours}: not so: {wrong}"


def report(tg, folder, model, options):
    """Writes the trace and the page of a search. A tree search starts with the priors of the same search."""
    trace, page = folder / f"{model.stem}.json", folder / f"{model.stem}.html"
    options = ["--cost", "analytic:cpu", *options]  # the result does not depend on times
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
    """With this strategy, report and trace agree, and tracing does not change the result."""
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
    assert len(points) > (2 if name in ("mcts", "pact24") else 1), f"{name}: {points}"
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


def file_name_by_default(tg, trace):
    """Without -o the page is written next to the trace, and its path is printed."""
    page = trace.with_suffix(".html")
    page.unlink(missing_ok=True)
    assert run(tg, "report", trace) == f"wrote {page}\n"
    assert page.exists()
    assert run(tg, "report", trace, "--quiet") == ""
    assert run(tg, "report", trace, "-o", "-") == page.read_text()


def pictures(tg, folder):
    """`:graph FILE` at the prompt writes valid files with all operators and edges."""
    lines = [f":graph blocks {folder / 'g.'}{ending}" for ending in ("svg", "html", "dot")]
    done = subprocess.run([str(tg), "repl", str(EXAMPLES / "residual.tg")], input="\n".join(lines),
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    svg = ElementTree.parse(folder / "g.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    nodes = [g for g in svg.iter(space + "g") if g.get("class", "").startswith("node")]
    edges = [(e.get("data-from"), e.get("data-to")) for e in svg.iter(space + "path")]
    dot = (folder / "g.dot").read_text()
    assert len(nodes) == len(re.findall(r"n\d+ \[label", dot)) > 10
    assert sorted(edges) == sorted(re.findall(r"n(\d+) -> n(\d+)", dot)) and len(edges) > 10
    assert (folder / "g.html").read_text().count('class="node') == len(nodes)


def odd_names(tg, folder):
    """Reports an unsuccessful search of a model whose names are long or contain HTML tags."""
    model = folder / "odd.tg"
    model.write_text(ODD)
    trace, page = report(tg, folder, model, ["--search", "saturate"])
    text = page.read_text()
    assert "<b>" not in text and "</b>" not in text
    assert text.count("</script>") == 2 and text.count("</template>") == 2
    told = json.loads(trace.read_text())
    assert told["source"][1]["weights"] == ["a.very.long.path/of</template></script><b>layers[12]&amp;.weight: f32[8, 8]"]
    return page


def main():
    tg = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        trace, page = report(tg, folder, EXAMPLES / "residual.tg", SEARCHED)
        text = page.read_text()
        assert "<title>blocks - Tangram" in text
        # The SVG namespace is the only URL.
        links = [a for a in re.findall(r"https?://[^\"'\s)]+", text) if "www.w3.org/2000/svg" not in a]
        assert not links, f"the page speaks of {links}"
        data = re.search(r'<script type="application/json" id="trace">(.*?)</script>', text, re.S).group(1)
        assert json.loads(data)["tangram_trace"] == 1
        assert json.loads(data) == json.loads(trace.read_text())
        told = json.loads(data)
        places = [node["where"] for node in told["tree"] if node["rule"]]
        places += [place for rule in told["applications"] for cell in rule["cells"] for place in cell[2]]
        assert any(re.search(r"\bf32\[.*\] of \w", place) for place in places), "no action names its place"
        damage_is_refused(tg, folder, trace)
        file_name_by_default(tg, trace)
        nothing = odd_names(tg, folder)
        pictures(tg, folder)
        for name, options in STRATEGIES.items():
            facts_hold(tg, folder, name, options)
        browser = shutil.which("chromium") or shutil.which("chromium-browser")
        if not browser:
            print("no chromium here: the page was not drawn")
            return
        _, large = report(tg, folder, EXAMPLES / "paper" / "nasneta.tg", LARGE)
        for window in WINDOWS:
            in_browser(browser, page, window)
            in_browser(browser, nothing, window, changed=False)
        in_browser(browser, large, WINDOWS[1])
        print("drawn " + ", ".join(f"at {w} x {h}, {c}" for w, h, c in WINDOWS))


if __name__ == "__main__":
    main()
