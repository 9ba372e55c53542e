#include "compiler/driver/cli/options/options_check.h"

#include "compiler/driver/prices/cost_model.h"
#include "compiler/driver/files/weight_file.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::cli {
namespace {

using llvm::formatv;
using llvm::StringRef;

/// Options that the search in use would not look at: what was asked for must not be missing unsaid.
std::optional<Misuse> check_strategy(const Options& o, llvm::ArrayRef<const OptionRow*> given) {
  StringRef strategy = tangram::word(o.search);
  for (const OptionRow* row : given) {
    std::vector<StringRef> users = row->used_by();
    if (users.empty() || llvm::is_contained(users, strategy)) continue;
    return Misuse{formatv("`{0}` requires `--search {1}`", row->flag, llvm::join(users, "|")),
                  formatv("the search in use is {0}", strategy)};
  }
  return std::nullopt;
}

/// What `tg run` takes for its `--opt` alone.
std::optional<Misuse> check_search_is_asked(const Options& o,
                                            llvm::ArrayRef<const OptionRow*> given) {
  if (o.command != CommandId::Run || o.optimize) return std::nullopt;
  for (const OptionRow* row : given) {
    bool of_search = row->group == OptionGroup::Search || row->group == OptionGroup::Prices ||
                     row->field(const_cast<Options*>(&o)) == &o.trace || // NOLINT
                     !row->strategies.empty();
    if (of_search && row->flag != "--cost-db")
      return Misuse{formatv("`{0}` is of a search: it requires `--opt`", row->flag)};
  }
  return std::nullopt;
}

/// Options that need a device.
std::optional<Misuse> check_devices(const Options& o) {
  using tangram::Backend;
  bool timed = is_timed(o.cost);
  bool on_cuda = (timed && backend_of_costs(o.cost) == Backend::Cuda) ||
                 (o.command == CommandId::Run && o.backend == Backend::Cuda);
  if (o.allow_tf32 && !on_cuda)
    return Misuse{"`--allow-tf32` requires cuda: `--backend cuda` or `--cost measured:cuda`"};
  if (o.cost_cache != tangram::CacheState::AsNetwork && !timed)
    return Misuse{
        "`--cost-cache` requires costs that are timed: `--cost measured` or `calibrated`"};
  if (o.streams > 1 && o.backend != Backend::Cuda)
    return Misuse{"`--streams` requires `--backend cuda`; the cpu has `--threads`"};
  return std::nullopt;
}

/// What is written as an ONNX file.
std::optional<Misuse> check_onnx(const Options& o, llvm::ArrayRef<const OptionRow*> given) {
  bool onnx = is_onnx_path(o.out_file);
  if (o.command == CommandId::Export && o.out_file.empty())
    return Misuse{"`tg export` requires `-o FILE.onnx`"};
  if (o.command == CommandId::Export && !onnx)
    return Misuse{
        formatv("`tg export` writes ONNX files: `{0}` does not end with .onnx", o.out_file)};
  if (o.command == CommandId::Import && !is_onnx_path(o.files.front()))
    return Misuse{
        formatv("`tg import` reads ONNX files: `{0}` does not end with .onnx", o.files.front())};
  if (o.command == CommandId::Import && o.out_file.empty() && !o.json)
    return Misuse{"`tg import` requires `-o FILE.tg`"};
  if (!onnx && llvm::any_of(given, [](const OptionRow* row) { return row->flag == "--opset"; }))
    return Misuse{"`--opset` requires `-o FILE.onnx`"};
  if (onnx && !o.weights_out.empty())
    return Misuse{"an .onnx file has its weights in it: it takes no `--weights-out`"};
  return std::nullopt;
}

} // namespace

std::optional<Misuse> check_options(Options& o, llvm::ArrayRef<const OptionRow*> given) {
  if (o.search == tangram::Search::Mcts && o.mcts_profile == MctsProfile::Pact24)
    o.search = tangram::Search::Pact24;
  if (auto misuse = check_devices(o)) return misuse;
  if (auto misuse = check_search_is_asked(o, given)) return misuse;
  if (auto misuse = check_strategy(o, given)) return misuse;
  if (auto misuse = check_onnx(o, given)) return misuse;
  if (!o.priors.empty() && llvm::is_contained(o.without, tangram::SearchPart::Priors))
    return Misuse{"`--priors` gives what `--without priors` leaves out"};
  for (const std::string* path : {&o.save_priors, &o.save_costs, &o.weights_out})
    if (*path == "-") return Misuse{"what a search saves goes to a file: `-` is for `-o`"};
  if (o.json && o.trace == "-") return Misuse{"`--json` and `--trace -` both want standard output"};
  if (o.json && o.out_file == "-") return Misuse{"`--json` and `-o -` both want standard output"};
  if (!o.weights_out.empty() && o.out_file.empty())
    return Misuse{"`--weights-out` writes the weights of the model that `-o` writes"};
  return std::nullopt;
}

} // namespace tg::cli
