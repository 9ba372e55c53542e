// Words of other programs, and the corresponding words here.
#include "compiler/cli/options/arguments.h"

#include <llvm/ADT/StringSwitch.h>

namespace tg::cli {

using llvm::StringRef;
using Words = llvm::StringSwitch<StringRef>;

StringRef idiom_of_command(StringRef word) {
  return Words(word)
      .Cases("optimize", "optimise", "compile", "rewrite", "models are optimised by `tg opt`")
      .Cases("format", "pretty", "files are laid out by `tg fmt`")
      .Cases("compare", "diff", "equal", "equiv", "two models are compared by `tg verify`")
      .Cases("prove", "proof", "rules are proved by `tg rules verify --proof`")
      .Cases("shell", "prompt", "interactive", "the prompt is `tg repl`")
      .Cases("exec", "eval", "execute", "models are run by `tg run`")
      .Cases("lint", "typecheck", "parse", "files are checked by `tg check`")
      .Case("convert", "ONNX files are read by `tg import` and written by `tg export`")
      .Case("load", "every command takes the file of its model, .tg or .onnx")
      .Cases("train", "table", "bench paper", "paper",
             "`tg-paper` has what only papers need: `train`, `table`")
      .Case("version", "`tg --version` says which this is")
      .Default("");
}

StringRef idiom_of_word(StringRef flag, StringRef word) {
  if (flag == "--tuner")
    return Words(word)
        .Cases("no-guess", "to-the-end", "formulas", "occurrences", "random-shapes", "all-bridges",
               "the published variants of the tuner are in `tg-paper tune --tuner`")
        .Default("");
  if (flag != "--search") return "";
  return Words(word)
      .Case("pact24", "the published tree search is in `tg-paper opt --search pact24`")
      .Case("rl", "trained policies are followed by `tg-paper opt --search rl`")
      .Default("");
}

StringRef idiom_of_program(StringRef command, StringRef word) {
  if (command.endswith(" tune"))
    return Words(word)
        .Cases("--reuse", "--strategy", "--algorithm", "--search",
               "the published variants of the tuner are in `tg-paper tune --reuse`")
        .Default("");
  return Words(word)
      .Cases("--mcts-profile", "--reward", "--reuse-tree",
             "the published tree search is in `tg-paper opt --search pact24`")
      .Default("");
}

StringRef idiom_of_option(StringRef word) {
  return Words(word)
      .Cases("--timeout", "--time", "--seconds", "--max-time", "--time-limit")
      .Cases("--memory", "--max-memory", "--mem", "--memory-limit")
      .Cases("--nodes", "--max-nodes", "--node-limit")
      .Cases("--device", "--target", "--backend")
      .Cases("--jobs", "-j", "--workers", "--cores", "--threads")
      .Cases("--batch", "--batch-size", "--param", "--define", "--set")
      .Cases("--out", "--save", "-O", "-o")
      .Cases("--precision", "--fp16", "--half", "--type", "--dtype")
      .Cases("--iters", "--repeat", "--iterations", "--runs")
      .Cases("--strategy", "--algorithm", "--search")
      .Cases("--prove", "--proofs", "--proof")
      .Cases("--check-equal", "--equal", "--verify")
      .Default("");
}

} // namespace tg::cli
