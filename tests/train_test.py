#!/usr/bin/env python3
"""Tests `tg train`: its output, that resumed training equals uninterrupted training, that searches follow a policy,
and that wrong options and files are rejected.

    train_test.py TG
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

MODEL = """
model chain(x: f32[4, 8], N: int = 3) {
  var y = x
  for i in 0..N {
    param w: f32[8, 8]
    y = relu(relu(y @ w + 0.0) * 1.0)
  }
  y
}
"""
TRAIN = ["--by-prices", "--cost", "analytic:cpu", "--policy", "xrlflow-scored", "--depth", "8", "--threads", "1",
         "--measure-every", "1"]


def run(tg, *args, expect=0):
    done = subprocess.run([tg, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == expect, f"{args}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def agents(tg, folder, model):
    """Agents that guide the tree search: trained on two models, and used on a third."""
    other, third = folder / "other.tg", folder / "third.tg"
    other.write_text(MODEL.replace("chain", "other").replace("N: int = 3", "N: int = 2"))
    third.write_text(MODEL.replace("chain", "third").replace("N: int = 3", "N: int = 5"))
    common = ["--cost", "analytic:cpu", "--threads", "1", "--rules", "algebra"]
    for agent, ending in [("gains", "json"), ("motifs", "json"), ("guide", "safetensors")]:
        file = folder / f"{agent}.{ending}"
        lines = run(tg, "train", model, other, "-o", file, "--policy", agent, "--rounds", 1, *common).stdout.splitlines()
        assert lines[0].split()[:4] == ["round", "1", "of", "1"] and "over 2 parts" in lines[-1], lines
        again = file.read_bytes()
        anew = ["--again"] if agent == "guide" else []
        run(tg, "train", model, other, "-o", file, "--policy", agent, "--rounds", 1, *anew, *common)
        assert file.read_bytes() == again, f"the same training came to another {agent}"
        found = [run(tg, "opt", third, "--policy", file, "--without", "saturation", "--json", *common[:-2]).stdout
                 for _ in range(2)]
        reports = [json.loads(text) for text in found]
        assert reports[0]["cost_after_us"] == reports[1]["cost_after_us"] < reports[0]["cost_before_us"], reports

    # Training of a guide resumes at the next round, and requires the same settings. Tables are always made again.
    guide = ["train", model, other, "-o", folder / "guide.safetensors", "--policy", "guide"]
    lines = run(tg, *guide, "--rounds", 2, *common).stdout.splitlines()
    assert [line.split()[1] for line in lines[:-1]] == ["2"] and "1 round after 1" in lines[-1], lines
    done = json.loads(run(tg, *guide, "--rounds", 2, "--json", *common).stdout)
    assert done["rounds"] == done["earlier_rounds"] == 2 and not done["stopped"], done
    kept = (folder / "guide.safetensors").read_bytes()
    brief = run(tg, *guide, "--rounds", 4, "--time-limit", "0.001", *common).stdout
    assert "(time limit), before a round was complete" in brief and "is unchanged" in brief, brief
    assert (folder / "guide.safetensors").read_bytes() == kept
    # If training is stopped before the first round, the earlier table is kept.
    table = (folder / "gains.json").read_bytes()
    brief = run(tg, *guide[:3], "-o", folder / "gains.json", "--policy", "gains", "--time-limit", "0.001", *common, expect=3).stderr
    assert "before a round was complete" in brief and (folder / "gains.json").read_bytes() == table, brief
    run(tg, *guide, "--rounds", 2, "--learning-rate", "0.001", *common)  # the default for a guide
    for args, says in [
        ([*guide, *common, "--seed", 2], "was trained with seed 1, not 2"),
        ([*guide, *common, "--learning-rate", "0.0005"], "was trained with learning_rate 1.0"),
        ([*guide, *common, "--numerics", "all"], ", all"),
        ([*guide, "--cost", "analytic:t4", *common[2:]], "was trained with cost analytic:cpu, not analytic:t4"),
        ([*guide[:2], *guide[3:], *common], "was trained with parts"),
        (["train", model, "-o", folder / "gains.json", "--policy", "gains", "--again"], "`--again` is not supported by"),
        (["train", model, "-o", folder / "gains.json", "--policy", "motifs", "--learning-rate", "0.1"], "is not supported by"),
    ]:
        refused = subprocess.run([tg, *map(str, args)], capture_output=True, text=True)
        assert refused.returncode in (1, 2) and says in refused.stderr, f"{args}\n{refused.stderr}"


def theta(file):
    """Returns the offset and the bytes of the weights in a policy file."""
    data = file.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    begin, end = json.loads(data[8:8 + length])["theta"]["data_offsets"]
    return 8 + length + begin, data[8 + length + begin:8 + length + end]


def settings(tg, folder, model):
    """Each setting has an effect, also with rewards from whole runs, which are the default."""
    def trained(name, *options, train=TRAIN):
        file = folder / f"{name}.safetensors"
        return json.loads(run(tg, "train", model, "-o", file, "--episodes", 20, "--json", *options, *train).stdout), file

    _, usual = trained("usual")
    for name, options in [("slips", ["--published-slips"]), ("slow", ["--learning-rate", "1.5e-8"]),
                          ("slower", ["--learning-rate", "2e-8"])]:
        _, file = trained(name, *options)
        assert theta(file)[1] != theta(usual)[1], f"{options} changed nothing"
    assert theta(folder / "slow.safetensors")[1] != theta(folder / "slower.safetensors")[1], "a rate was rounded"
    report, file = trained("runs", train=TRAIN[3:])
    assert report["measurements"] > 1 and report["best_us"] <= report["source_us"] and report["stopped_by"] == "", report

    # A policy with non-finite numbers is rejected.
    at, _ = theta(file)
    damaged = bytearray(file.read_bytes())
    damaged[at:at + 4] = struct.pack("<f", float("nan"))
    file.write_bytes(damaged)
    for command in [["opt", model, "--search", "rl", "--policy", file, *TRAIN[1:3]], ["train", model, "-o", file, *TRAIN[3:]]]:
        assert "tensor `theta` has values that are not finite" in run(tg, *command, expect=1).stderr


def files(tg, folder, model, policy):
    """The kind of a file is detected from its contents, and training overwrites only files of its own kind."""
    common = ["--cost", "analytic:cpu", "--threads", "1", "--rules", "algebra", "--rounds", 1]
    gains, guide = folder / "gains.policy", folder / "guide.json"
    run(tg, "train", model, "-o", gains, "--policy", "gains", *common)
    imported = Path(__file__).resolve().parent / "golden/import/attention_nodes.onnx"
    report = json.loads(run(tg, "train", model, imported, "-o", guide, "--policy", "guide", "--json", *common).stdout)
    assert report["networks"] == 2 and report["samples"] > 0, report
    for file in (gains, guide):
        run(tg, "opt", model, "--policy", file, *common[:-2])
    nothing = folder / "nothing.tg"
    nothing.write_text("model nothing(x: f32[4, 8]) { reshape(reshape(x, [32]), [8, 4]) }\n")
    empty = folder / "empty"
    empty.write_bytes(b"")
    run(tg, "train", model, nothing, "-o", empty, "--policy", "gains", *common)  # no operator of `nothing` has a cost
    for args, says in [
        (["train", model, "-o", guide, "--policy", "gains", *common], "contains something else"),
        (["train", model, "-o", model, "--policy", "motifs", *common], "contains something else"),
        (["train", model, "-o", gains, "--policy", "guide", "--again", *common], "contains something else"),
        (["train", model, "-o", model, "--again", *TRAIN], "contains something else"),
        (["train", model, "-o", folder / "new", "--best", folder / "new", *TRAIN], "name the same file"),
        (["train", model, "-o", folder / "new", "--best", "-", "--json", *TRAIN], "both write to standard output"),
        (["train", model, "-o", folder / "new", "--learning-rate", "0", *TRAIN], "requires a number from 1e-09 to 1, not `0`"),
        (["train", nothing, "-o", folder / "new", *TRAIN], "`nothing` takes no time"),
        (["train", nothing, "-o", folder / "new", "--policy", "guide", *common], "no part of these models has a cost"),
        (["opt", model, "--search", "rl", "--policy", gains], "contains text, not a policy for `--search rl`"),
        (["opt", model, "--search", "rl", "--policy", guide], "contains a guide, not a policy for `--search rl`"),
    ]:
        before = {path: path.read_bytes() for path in (model, gains, guide)}
        refused = subprocess.run([tg, *map(str, args)], capture_output=True, text=True)
        assert refused.returncode in (1, 2) and says in refused.stderr, f"{args}\n{refused.stderr}"
        assert all(path.read_bytes() == data for path, data in before.items()), f"{args} destroyed a file"
    followed = json.loads(run(tg, "opt", model, "--set", "N=2", "--search", "rl", "--policy", policy, "--rules", "taso", "--json",
                              *TRAIN[1:3]).stdout)
    assert "the policy was trained on another model, `chain`, with other rules" in followed["notes"], followed["notes"]


def broken_library(tg, folder, model):
    """The published policy optimises its network with the library's rules, so that a broken library is an error."""
    (folder / "rules").mkdir()
    (folder / "rules/fuse.tg").write_text("rule broken(x) { relu(x) => }\n")
    args = ["train", model, "-o", folder / "p.safetensors", "--policy", "xrlflow", "--rules", "taso", "--trust-rules", "--by-prices",
            "--cost", "analytic:cpu"]
    refused = subprocess.run([tg, *map(str, args)], capture_output=True, text=True, env={**os.environ, "TANGRAM_LIBRARY": str(folder)})
    assert refused.returncode == 1 and "rules/fuse.tg:1:28: expected an expression" in refused.stderr, refused


def main(tg):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model, whole, parts = folder / "chain.tg", folder / "whole.safetensors", folder / "parts.safetensors"
        model.write_text(MODEL)

        # After every ten episodes a line is printed and the file is written.
        lines = run(tg, "train", model, "-o", whole, "--episodes", 30, *TRAIN).stdout.splitlines()
        assert [line.split()[1] for line in lines if line.startswith("episode")] == ["10", "20", "30"], lines

        # Training in two runs gives the same policy, bit for bit.
        run(tg, "train", model, "-o", parts, "--episodes", 10, *TRAIN)
        # The best graph of all episodes is stored, and a resumed run reads it.
        first, second, third = (folder / f"best{i}.tg" for i in range(3))
        report = json.loads(run(tg, "train", model, "-o", parts, "--episodes", 30, "--best", second, "--json", *TRAIN).stdout)
        assert report["earlier_episodes"] == 10 and report["episodes"] == 30, report
        assert [update["episodes"] for update in report["updates"]] == [20, 30], report
        assert whole.read_bytes() == parts.read_bytes(), "interrupted training came to another policy"
        run(tg, "train", model, "-o", folder / "again.safetensors", "--episodes", 30, "--best", first, *TRAIN)
        assert first.read_text() == second.read_text(), "the best graph of earlier episodes was forgotten"
        again = json.loads(run(tg, "train", model, "-o", parts, "--episodes", 30, "--best", third, "--json", *TRAIN).stdout)
        assert again["best_us"] == report["best_us"] < report["source_us"] and third.read_text() == first.read_text(), again
        priced = json.loads(run(tg, "opt", first, "--search", "none", "--cost", "analytic:cpu", "--json").stdout)
        assert abs(priced["cost_before_us"] - report["best_us"]) < 1e-6 * report["best_us"], priced

        # If training is stopped before its first update, no file is written; later, the file is kept.
        none = folder / "none.safetensors"
        brief = run(tg, "train", model, "-o", none, "--episodes", 40, "--time-limit", "0.001", *TRAIN, expect=3).stderr
        assert "stopped by the time limit before an update of 10 episodes was complete" in brief and not none.exists(), brief
        kept = parts.read_bytes()
        brief = run(tg, "train", model, "-o", parts, "--episodes", 40, "--time-limit", "0.001", *TRAIN).stdout
        assert "(time limit), before an update of 10" in brief and "is unchanged" in brief and parts.read_bytes() == kept, brief
        settings(tg, folder, model)

        # A search follows the policy, and its result is verified.
        optimized = json.loads(run(tg, "opt", model, "--search", "rl", "--policy", whole, "--cost", "analytic:cpu",
                                   "--verify", "--json").stdout)
        assert optimized["search"] == "rl" and optimized["cost_after_us"] < optimized["cost_before_us"], optimized
        assert any(note.startswith("verified") for note in optimized["notes"]), optimized
        assert not any("was trained" in note for note in optimized["notes"]), optimized

        # Policies that cannot be trained further or followed.
        for args, says in [
            (["train", model, "-o", parts, "--seed", 2, *TRAIN], "was trained with seed 1, not 2"),
            (["train", model, "-o", parts, "--set", "N=2", *TRAIN], "was trained with digest"),
            (["train", model, "-o", parts, "--rules", "taso", *TRAIN], "was trained with rules"),
            (["train", model, "-o", parts, "--numerics", "all", *TRAIN], ", all"),
            (["train", model, "-o", parts, *TRAIN[1:]], "not whole runs on cpu, 1 threads"),
            (["train", model, *TRAIN], "-o FILE"),
            (["opt", model, "--search", "rl"], "requires a trained policy"),
            (["train", model, "-o", parts, "--policy", "guide", "--best", third], "`--best` is not supported by `--policy guide`"),
            (["opt", model, "--policy", whole, "--cost", "analytic:cpu"], "--search rl"),
            (["opt", model, "--search", "taso", "--policy", whole], "--search mcts|rl"),
            (["opt", model, "--policy", model, "--cost", "analytic:cpu"], "chain.tg"),
            (["train", model, model, "-o", parts, *TRAIN], "requires a single model"),
            (["opt", model, "--search", "rl", "--policy", model], "chain.tg"),
        ]:
            refused = subprocess.run([tg, *map(str, args)], capture_output=True, text=True)
            assert refused.returncode in (1, 2) and says in refused.stderr, f"{args}\n{refused.stderr}"
        run(tg, "train", model, "-o", parts, "--seed", 2, "--episodes", 10, "--again", *TRAIN)
        broken_library(tg, folder, model)
        agents(tg, folder, model)
        files(tg, folder, model, whole)
    print("policies are trained, go on, and are followed")


if __name__ == "__main__":
    main(sys.argv[1])
