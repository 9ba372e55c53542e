#include "compiler/driver/cli/options_check.h"

#include "compiler/driver/cost_model.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::cli {
namespace {

using llvm::StringRef;

constexpr StringRef kParts[] = {"widening",   "firing",    "normalising", "transpositions",
                                "priors",     "stretches", "repeats",     "restarts",
                                "saturation", "tree",      "thorough",    "focus"};
constexpr StringRef kProfiles[] = {"cpu", "t4", "a100", "h200"};

/// One option that takes one of a few words.
struct Choice {
  StringRef flag;
  std::string Options::*value;
  std::vector<StringRef> words;
};

const std::vector<Choice>& choices() {
  static const std::vector<Choice> table = {
      {"--search", &Options::search, {"none", "saturate", "mcts", "anneal", "taso", "random"}},
      {"--extract",
       &Options::extract,
       {"greedy", "greedy-shared", "greedy-dag", "ilp", "lp", "best"}},
      {"--groups", &Options::groups, {"auto", "on", "off"}},
      {"--backend", &Options::backend, {"ref", "cpu", "cuda"}},
      {"--numerics", &Options::numerics, {"exact", "reassociate", "all", "lossy"}},
      {"--mcts-profile", &Options::mcts_profile, {"tangram", "pact24"}},
      {"--reward", &Options::reward, {"greedy", "greedy-shared", "ilp"}},
      {"--cycle-filter", &Options::cycle_filter, {"efficient", "vanilla", "none"}},
      {"--ilp-cycles", &Options::ilp_cycles, {"none", "real", "int"}},
  };
  return table;
}

std::string listed(const std::vector<StringRef>& words) { return llvm::join(words, ", "); }

std::optional<std::string> check_choice(const Choice& choice, StringRef word) {
  if (llvm::is_contained(choice.words, word)) return std::nullopt;
  return llvm::formatv("{0} takes one of {1}, not `{2}`", choice.flag, listed(choice.words), word);
}

std::optional<std::string> check_cost(StringRef cost) {
  auto [kind, detail] = cost.split(':');
  if (kind == "analytic")
    return detail.empty() || llvm::is_contained(kProfiles, detail)
               ? std::nullopt
               : std::optional<std::string>(llvm::formatv(
                     "no device profile `{0}`; there are cpu, t4, a100, h200", detail));
  if (kind == "measured" || kind == "calibrated") {
    if (detail.empty() || detail == "cpu" || detail == "cuda") return std::nullopt;
    return llvm::formatv("--cost measures on cpu and cuda, not on `{0}`", detail);
  }
  if (kind == "file" && !detail.empty()) return std::nullopt;
  return llvm::formatv(
      "--cost takes calibrated[:cpu|:cuda], analytic[:PROFILE], measured[:cpu|:cuda] or "
      "file:TABLE, not `{0}`",
      cost);
}

/// `NAME=VALUE` into its halves.
std::optional<std::string> split_pairs(const std::vector<std::string>& texts, StringRef flag,
                                       std::vector<std::pair<std::string, std::string>>& pairs) {
  for (const std::string& text : texts) {
    auto [name, value] = StringRef(text).split('=');
    if (name.empty() || value.empty())
      return llvm::formatv("{0} takes NAME=VALUE, not `{1}`", flag, text);
    pairs.emplace_back(name.str(), value.str());
  }
  return std::nullopt;
}

/// `NAME=F.npy`, or `F.npz` alone, which is kept without a name.
std::optional<std::string> split_inputs(const std::vector<std::string>& texts,
                                        std::vector<std::pair<std::string, std::string>>& inputs) {
  for (const std::string& text : texts) {
    if (StringRef(text).endswith(".npz") && !StringRef(text).contains('='))
      inputs.emplace_back("", text);
    else if (auto problem = split_pairs({text}, "--input", inputs))
      return problem;
  }
  return std::nullopt;
}

/// Options that the search in use would not look at: what was asked for must not be missing unsaid.
std::optional<std::string> check_search(const Options& o) {
  bool mcts = o.search == "mcts", published = mcts && o.mcts_profile == "pact24";
  auto of = [&](StringRef flag, StringRef search) {
    return llvm::formatv("{0} is of {1}", flag, search).str();
  };
  if (o.reuse_tree && !published) return of("--reuse-tree", "--search mcts --mcts-profile pact24");
  if (mcts && !published) {
    if (!o.priors.empty() && llvm::is_contained(o.without, "priors"))
      return "--priors gives what `--without priors` leaves out";
    return std::nullopt;
  }
  StringRef shipped = "--search mcts (profile tangram)";
  if (!o.priors.empty()) return of("--priors", shipped);
  if (!o.save_priors.empty()) return of("--save-priors", shipped);
  if (!o.without.empty()) return of("--without", shipped);
  return std::nullopt;
}

} // namespace

std::optional<std::string> second_look(Options& o, const Raw& raw) {
  std::optional<DType> dtype = parse_dtype(raw.dtype);
  if (!dtype || !is_float(*dtype))
    return llvm::formatv("--dtype takes f32, f16 or bf16, not `{0}`", raw.dtype);
  o.dtype = *dtype;
  for (const Choice& choice : choices())
    if (auto problem = check_choice(choice, o.*choice.value)) return problem;
  if (auto problem = check_cost(o.cost)) return problem;
  bool timed = is_measured(o.cost) || is_calibrated(o.cost);
  bool on_cuda =
      (timed && backend_of_costs(o.cost) == "cuda") || (o.command == "run" && o.backend == "cuda");
  if (o.allow_tf32 && !on_cuda)
    return "--allow-tf32 is of cuda: it needs --backend cuda or --cost measured:cuda";
  if (!o.cost_cache.empty() && !timed)
    return "--cost-cache is of costs that are timed: it needs --cost measured or calibrated";
  if (o.streams > 1 && o.backend != "cuda")
    return "--streams is of cuda: it needs --backend cuda (the cpu has --threads)";
  if (auto problem = check_search(o)) return problem;
  if (auto problem = split_pairs(raw.set, "--set", o.set)) return problem;
  if (auto problem = split_inputs(raw.inputs, o.inputs)) return problem;
  for (StringRef word : o.without)
    if (!llvm::is_contained(kParts, word))
      return llvm::formatv("--without takes some of {0}, not `{1}`",
                           listed({std::begin(kParts), std::end(kParts)}), word);
  if (o.json && o.out_file == "-") return "`--json` and `-o -` both want standard output";
  if (!o.weights_out.empty() && o.out_file.empty())
    return "`--weights-out` writes the weights of the model that `-o` writes";
  if (o.command == "weights" && o.files.size() > 2)
    return llvm::formatv("`tg weights` takes a model and a file of weights, not {0} files",
                         o.files.size());
  bool one_file = o.command == "opt" || o.command == "explain" || o.command == "run" ||
                  o.command == "extract" || (o.command == "fmt" && !o.out_file.empty());
  if (one_file && o.files.size() > 1)
    return llvm::formatv("`tg {0}` takes one file here, not {1}", o.command, o.files.size());
  return std::nullopt;
}

} // namespace tg::cli
