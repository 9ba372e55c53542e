#!/usr/bin/env python3
"""Checks that text, JSON, trace, page, output file and exit code of `tg opt` and `tg run --opt` agree on the outcome
of a search: changed, unchanged, or source returned. The page's script is run if Node.js is installed; otherwise a line
says that it was not run.

    outcomes_test.py TG
"""
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TWICE = "model twice(x: f32[64, 64]) -> f32[64, 64] { relu(relu(x)) }\n"
ONCE = "model once(x: f32[64, 64]) -> f32[64, 64] { relu(x) }\n"
DEEP = "model deep(x: f32[512, 512]) -> f32[512, 512] { sigmoid(tanh(tanh(tanh(tanh(tanh(tanh(tanh(x)))))))) }\n"
WRONG = "rule drop_tanh(x) exact { tanh(tanh(tanh(tanh(tanh(tanh(tanh(x))))))) => relu(x) }\n"
ANALYTIC = ["--cost", "analytic:cpu"]
TRUSTED = ["--rules", "WRONG", "--trust-rules"]
RETURNED = "the source is returned"

#: Name, model, options and outcome (None if it depends on time).
CASES = [
    ("cheaper by prices", TWICE, ANALYTIC, "changed"),
    ("cheaper, verified", TWICE, [*ANALYTIC, "--verify"], "changed"),
    ("cheaper in bf16", TWICE, [*ANALYTIC, "--dtype", "bf16"], "changed"),
    ("cheaper, saturated", TWICE, [*ANALYTIC, "--search", "saturate"], "changed"),
    ("nothing to find", ONCE, ANALYTIC, "unchanged"),
    ("nothing to find, whole runs", ONCE, [], "unchanged"),
    ("nothing to find, verified", ONCE, [*ANALYTIC, "--verify"], "unchanged"),
    ("nothing to find, saturated", ONCE, [*ANALYTIC, "--search", "saturate"], "unchanged"),
    ("no time", TWICE, [*ANALYTIC, "--time-limit", "0.000001"], None),
    ("wrong outputs", DEEP, TRUSTED, "returned"),
    ("wrong outputs, saturated", DEEP, [*TRUSTED, "--search", "saturate"], "returned"),
    ("wrong outputs, in bf16", DEEP, [*TRUSTED, "--dtype", "bf16"], "returned"),
    ("wrong outputs that are not looked at", DEEP, [*TRUSTED, "--finalists", "0"], "changed"),
]

#: A stub of the DOM that records appended nodes, and the page's script without the drawings of graphs.
PAGE = """
const node=(name,children=[])=>({name,children,dataset:{},style:{},attributes:{},classList:{toggle(){}},clientWidth:600,value:"0",
  append(...c){this.children.push(...c)},prepend(...c){this.children.unshift(...c)},remove(){},replaceChildren(...c){this.children=c},
  setAttribute(k,v){this.attributes[k]=v},addEventListener(){},set textContent(t){this.children=[String(t)]},
  get lastChild(){return this.children[this.children.length-1]}});
const parts={page:node("main"),trace:{textContent:DATA}};
globalThis.document={createElement:n=>node(n),createElementNS:(_,n)=>node(n),getElementById:id=>parts[id],documentElement:node("html"),body:node("body")};
globalThis.getComputedStyle=()=>({paddingLeft:"18"});globalThis.addEventListener=()=>{};globalThis.localStorage={getItem:()=>null,setItem(){}};
SCRIPT
const words=n=>typeof n=="string"?n:n.name=="title"?"":n.children.map(words).join(" ")+" ";
console.log(words(parts.page).replace(/\\s+/g," "));
"""


def run(*command):
    return subprocess.run([str(one) for one in command], capture_output=True, text=True, timeout=600)


def shown(page):
    """Returns the text of the page's head, cost chart and chain, or None without Node.js."""
    browser = shutil.which("node") or shutil.which("nodejs")
    if not browser:
        return None
    text = page.read_text()
    data = re.search(r'<script type="application/json" id="trace">(.*?)</script>', text, re.S).group(1)
    script = text.rsplit("<script>", 1)[1].split("</script>")[0]
    called = "head();cost();heat();tree();chain();graphs();"
    assert called in script, "the page draws itself otherwise"
    script = script.replace('"use strict";', "").replace(called, "head();cost();chain();")
    program = page.with_suffix(".js")
    program.write_text(PAGE.replace("DATA", json.dumps(data)).replace("SCRIPT", script))
    done = run(browser, program)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def agree(name, outcome, report, trace, page):
    """Checks a report against the graphs of its trace and the text of its page, and returns the outcome."""
    other = any(node["changed"] for node in trace["source"] + trace["result"])
    assert report["changed"] == other, f"{name}: `changed` is {report['changed']}, and the graphs say {other}"
    assert not (report["changed"] and report["source_returned"]), name
    told = "changed" if report["changed"] else "returned" if report["source_returned"] else "unchanged"
    assert outcome in (None, told), f"{name}: {told}, not {outcome}: {report['notes']}"
    for key in ("changed", "source_returned", "cost_before_us", "cost_after_us", "nodes_after", "rules_applied", "speedup"):
        assert trace["report"].get(key) == report.get(key), f"{name}: `{key}` of the trace"
    assert set(trace["report"]["notes"]) <= set(report["notes"]), name  # verification adds notes later
    notes = " ".join(report["notes"])
    if told != "changed":
        assert report["cost_after_us"] == report["cost_before_us"] and report["nodes_after"] == report["nodes_before"], name
        assert report["rules_applied"] == {} and trace["steps"] == [] and report.get("speedup", 1) == 1, name
    if told == "returned":
        assert RETURNED in notes or "no graph was found that costs less" in notes, f"{name}: {report['notes']}"
    else:
        assert RETURNED not in notes, f"{name}: {report['notes']}"
    if page is not None:
        assert ("times cheaper" in page) == (told == "changed" and report["cost_after_us"] < report["cost_before_us"]), f"{name}: {page}"
        assert (RETURNED in page) == (told == "returned"), f"{name}: {page}"
        assert ("no cheaper graph was found" in page) == (told == "unchanged"), f"{name}: {page}"
        assert ("result: the source" in page) == (told == "returned"), f"{name}: {page}"
        assert ("the result is the source" in page) == (told != "changed") or trace["steps"] == [], f"{name}: {page}"
    return told


def said(name, told, text):
    """Checks the printed text against the outcome."""
    gain = re.search(r"^ +cost .*? ([0-9.]+)x", text, re.M)
    assert gain, f"{name}: {text}"
    if told != "changed":
        assert float(gain.group(1)) == 1, f"{name}: {text}"
    assert (RETURNED in text or "no graph was found that costs less" in text) == (told == "returned"), f"{name}: {text}"


class Cases:
    def __init__(self, tg, folder):
        self.tg, self.folder = tg, folder
        (folder / "wrong.tg").write_text(WRONG)

    def command(self, model, options):
        path = self.folder / "m.tg"
        path.write_text(model)
        options = [self.folder / "wrong.tg" if one == "WRONG" else one for one in options]
        return path, [*options, "--threads", "1", "--cost-db", self.folder / "prices.db"]

    def traced(self, name, model, options, outcome):
        path, options = self.command(model, options)
        out, trace, page = (self.folder / f"out.{ending}" for ending in ("tg", "json", "html"))
        done = run(self.tg, "opt", path, *options, "-o", out, "--trace", trace, "--json")
        assert done.returncode == 0, f"{name}: exit code {done.returncode}: {done.stderr}"
        assert run(self.tg, "report", trace, "-o", page).returncode == 0, name
        told = agree(name, outcome, json.loads(done.stdout), json.loads(trace.read_text()), shown(page))
        written, source = (re.sub(r"\s+", "", run(self.tg, "opt", one, *ANALYTIC, "--search", "none", "-o", "-", "--quiet").stdout)
                           for one in (out, path))
        assert (written != source) == (told == "changed"), f"{name}: {told}, and the file says otherwise"
        return told

    def printed(self, name, model, options, told):
        path, options = self.command(model, options)
        done = run(self.tg, "opt", path, *options)
        assert done.returncode == 0, f"{name}: exit code {done.returncode}: {done.stderr}"
        said(name, told, done.stdout)

    def checked(self, name, model, options, told):
        """`tg run --opt --check` fails exactly if the result is a wrong graph."""
        path, options = self.command(model, [one for one in options if one != "--verify"])
        done = run(self.tg, "run", path, "--opt", "--check", "--runs", "1", "--json", *options)
        wrong = told == "changed" and "WRONG" in map(str, CASES_BY_NAME[name][2])
        assert (done.returncode != 0) == wrong, f"{name}: exit code {done.returncode}: {done.stderr}"
        if not wrong:
            report = json.loads(done.stdout)["opt"]
            assert report["changed"] == (told == "changed") and report["source_returned"] == (told == "returned"), f"{name}: {report}"

    def interrupted(self):
        """Ctrl-C gives a report of the best graph so far, and exit code 0."""
        path, options = self.command(DEEP.replace("deep", "long"), [*ANALYTIC, "--search", "anneal", "--budget", "100000000", "--time-limit", "600"])
        out, trace, page = (self.folder / f"long.{ending}" for ending in ("tg", "json", "html"))
        process = subprocess.Popen([str(one) for one in (self.tg, "opt", path, *options, "-o", out, "--trace", trace, "--json")],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        text, errors = process.communicate(timeout=120)
        if process.returncode < 0:
            print("not checked: Ctrl-C before the search began")
            return
        assert process.returncode == 0, f"interrupted: exit code {process.returncode}: {errors}"
        assert run(self.tg, "report", trace, "-o", page).returncode == 0
        agree("interrupted", None, json.loads(text), json.loads(trace.read_text()), shown(page))


CASES_BY_NAME = {case[0]: case for case in CASES}


def main():
    tg = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(tg, Path(folder))
        for name, model, options, outcome in CASES:
            told = cases.traced(name, model, options, outcome)
            if outcome is not None:  # else the outcome depends on time
                cases.printed(name, model, options, told)
                cases.checked(name, model, options, told)
        cases.interrupted()
    if not (shutil.which("node") or shutil.which("nodejs")):
        print("no Node.js here: the page's script was not run")
    print(f"{len(CASES)} outcomes, and Ctrl-C")


if __name__ == "__main__":
    main()
