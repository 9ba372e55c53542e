#include "compiler/driver/cli/options_check.h"

#include "compiler/driver/cost_model.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::cli {
namespace {

using llvm::formatv;
using llvm::StringRef;

constexpr StringRef kProfiles[] = {"cpu", "t4", "a100", "h200"};

std::optional<Misuse> check_cost(StringRef cost) {
  auto [kind, detail] = cost.split(':');
  if (kind == "analytic") {
    if (detail.empty() || llvm::is_contained(kProfiles, detail)) return std::nullopt;
    return Misuse{formatv("no device profile `{0}`; there are cpu, t4, a100, h200", detail)};
  }
  if (kind == "measured" || kind == "calibrated") {
    if (detail.empty() || detail == "cpu" || detail == "cuda") return std::nullopt;
    return Misuse{formatv("`--cost` measures on cpu and cuda, not on `{0}`", detail)};
  }
  if (kind == "file" && !detail.empty()) return std::nullopt;
  return Misuse{
      formatv("`--cost` takes calibrated[:cpu|:cuda], analytic[:PROFILE], measured[:cpu|:cuda] or "
              "file:TABLE, not `{0}`",
              cost)};
}

/// Options that the search in use would not look at: what was asked for must not be missing unsaid.
std::optional<Misuse> check_strategy(const Options& o, llvm::ArrayRef<const OptionRow*> given) {
  bool published = o.search == "mcts" && o.mcts_profile == "pact24";
  StringRef strategy = published ? StringRef("pact24") : StringRef(o.search);
  for (const OptionRow* row : given) {
    std::vector<StringRef> users = row->used_by();
    if (users.empty() || llvm::is_contained(users, strategy)) continue;
    return Misuse{formatv("`{0}` requires `--search {1}`", row->flag, llvm::join(users, "|")),
                  formatv("the search in use is {0}", strategy)};
  }
  return std::nullopt;
}

/// Options that need a device.
std::optional<Misuse> check_devices(const Options& o) {
  bool timed = is_measured(o.cost) || is_calibrated(o.cost);
  bool on_cuda =
      (timed && backend_of_costs(o.cost) == "cuda") || (o.command == "run" && o.backend == "cuda");
  if (o.allow_tf32 && !on_cuda)
    return Misuse{"`--allow-tf32` requires cuda: `--backend cuda` or `--cost measured:cuda`"};
  if (!o.cost_cache.empty() && !timed)
    return Misuse{
        "`--cost-cache` requires costs that are timed: `--cost measured` or `calibrated`"};
  if (o.streams > 1 && o.backend != "cuda")
    return Misuse{"`--streams` requires `--backend cuda`; the cpu has `--threads`"};
  return std::nullopt;
}

} // namespace

std::optional<Misuse> check_options(Options& o, llvm::ArrayRef<const OptionRow*> given) {
  if (o.cost.empty()) o.cost = default_cost_spec();
  if (auto misuse = check_cost(o.cost)) return misuse;
  if (auto misuse = check_devices(o)) return misuse;
  if (auto misuse = check_strategy(o, given)) return misuse;
  if (!o.priors.empty() && llvm::is_contained(o.without, "priors"))
    return Misuse{"`--priors` gives what `--without priors` leaves out"};
  if (o.json && o.out_file == "-") return Misuse{"`--json` and `-o -` both want standard output"};
  if (!o.weights_out.empty() && o.out_file.empty())
    return Misuse{"`--weights-out` writes the weights of the model that `-o` writes"};
  return std::nullopt;
}

} // namespace tg::cli
