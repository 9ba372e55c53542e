// Words of other programs, and the corresponding words here.
#include "compiler/cli/options/arguments.h"

#include <llvm/ADT/StringSwitch.h>

namespace tg::cli {

using llvm::StringRef;
using Words = llvm::StringSwitch<StringRef>;

StringRef idiom_of_command(StringRef word) {
  return Words(word)
      .Cases("optimize", "optimise", "compile", "rewrite", "use `tg opt` to optimise a model")
      .Cases("format", "pretty", "use `tg fmt` to format files")
      .Cases("compare", "diff", "equal", "equiv", "use `tg verify` to compare two models")
      .Cases("prove", "proof", "use `tg rules verify --proof` to prove rules")
      .Cases("shell", "prompt", "interactive", "use `tg repl` for the prompt")
      .Cases("exec", "eval", "execute", "use `tg run` to run a model")
      .Cases("lint", "typecheck", "parse", "use `tg check` to check files")
      .Case("convert", "use `tg import` to read ONNX files and `tg export` to write them")
      .Case("load", "give the model file, .tg or .onnx, directly to a command")
      .Cases("train", "table", "bench paper", "paper", "use `tg-paper` for `train` and `table`")
      .Case("version", "use `tg --version` to show the version")
      .Default("");
}

StringRef idiom_of_word(StringRef flag, StringRef word) {
  if (flag == "--tuner")
    return Words(word)
        .Cases("no-guess", "to-the-end", "formulas", "occurrences", "random-shapes", "all-bridges",
               "use `tg-paper tune --tuner` for the published variants of the tuner")
        .Default("");
  if (flag != "--search") return "";
  return Words(word)
      .Case("pact24", "use `tg-paper opt --search pact24` for the published tree search")
      .Case("rl", "use `tg-paper opt --search rl` to follow a trained policy")
      .Default("");
}

StringRef idiom_of_program(StringRef command, StringRef word) {
  if (command.endswith(" tune"))
    return Words(word)
        .Cases("--reuse", "--strategy", "--algorithm", "--search",
               "use `tg-paper tune --reuse` for the published variants of the tuner")
        .Default("");
  return Words(word)
      .Cases("--mcts-profile", "--reward", "--reuse-tree",
             "use `tg-paper opt --search pact24` for the published tree search")
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
