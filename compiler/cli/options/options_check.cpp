#include "compiler/cli/options/options_check.h"

#include "compiler/api/backends/backends.h"
#include "compiler/api/files/weight_file.h"
#include "compiler/cli/options/program.h"
#include "compiler/pricing/cost_model.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>

#include <functional>

namespace tg::cli {
namespace {

using llvm::formatv;
using llvm::StringRef;

/// Rejects options that the selected search would ignore.
std::optional<Misuse> check_strategy(const Options& o, llvm::ArrayRef<const OptionRow*> given) {
  StringRef strategy = search_word(o);
  for (const OptionRow* row : given) {
    std::vector<StringRef> users = row->used_by();
    if (users.empty() || llvm::is_contained(users, strategy)) continue;
    return Misuse{formatv("`{0}` requires `--search {1}`", row->flag, llvm::join(users, "|")),
                  formatv("the current search is {0}", strategy)};
  }
  return std::nullopt;
}

/// Rejects options that `tg run` supports only with `--opt`.
std::optional<Misuse> check_search_is_asked(const Options& o,
                                            llvm::ArrayRef<const OptionRow*> given) {
  if (o.command != CommandId::Run || o.optimize) return std::nullopt;
  for (const OptionRow* row : given) {
    bool of_search = row->group == OptionGroup::Search || row->group == OptionGroup::Prices ||
                     row->field(const_cast<Options*>(&o)) == &o.trace || // NOLINT
                     !row->strategies.empty();
    if (of_search && row->flag != "--cost-db")
      return Misuse{formatv("`{0}` is a search option and requires `--opt`", row->flag)};
  }
  return std::nullopt;
}

/// Returns the names of the backends that support an option: "cuda".
std::string having(bool BackendRow::*what) {
  std::string names = backend_names(std::mem_fn(what));
  return names.empty() ? "NAME" : names;
}

/// Returns true if a backend of this build does not support the option. Backends that the build
/// lacks are reported elsewhere.
bool lacks(tangram::Backend backend, bool BackendRow::*what) {
  const BackendRow* row = find_backend(backend);
  return row && !(row->*what);
}

/// Checks options that need a device.
std::optional<Misuse> check_devices(const Options& o) {
  bool timed = is_timed(o.cost);
  bool tf32 = (timed && !lacks(backend_of_costs(o.cost), &BackendRow::tf32)) ||
              (o.command == CommandId::Run && !lacks(o.backend, &BackendRow::tf32));
  if (o.allow_tf32 && !tf32)
    return Misuse{formatv("`--allow-tf32` requires {0}: `--backend {0}` or `--cost measured:{0}`",
                          having(&BackendRow::tf32))};
  if (o.cost_cache != tangram::CacheState::AsNetwork && !timed)
    return Misuse{"`--cost-cache` requires measured prices: `--cost measured` or `calibrated`"};
  if (o.streams > 1 && lacks(o.backend, &BackendRow::streams))
    return Misuse{formatv("`--streams` requires `--backend {0}`; for `{1}` use `--threads`",
                          having(&BackendRow::streams), tangram::word(o.backend))};
  return std::nullopt;
}

/// Checks options of ONNX output.
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
    return Misuse{
        "`--weights-out` cannot be combined with an .onnx file, which contains its weights"};
  return std::nullopt;
}

std::optional<Misuse> check_steps(const Options& o) {
  if (o.command != CommandId::Run) return std::nullopt;
  if (o.steps == 0 && !o.data.empty()) return Misuse{"`--data` requires `--steps N`"};
  if (o.steps == 0 && !o.weights_out.empty())
    return Misuse{"`--weights-out` requires `--steps N`: it writes the trained weights"};
  if (o.steps > 0 && o.dtype != tangram::DType::F32)
    return Misuse{"`--steps` requires `--dtype f32`: narrower types lose small updates of weights"};
  if (o.steps > 0 && (o.check || o.runs > 0 || o.streams > 1))
    return Misuse{formatv("`{0}` cannot be combined with `--steps`", o.check      ? "--check"
                                                                     : o.runs > 0 ? "--runs"
                                                                                  : "--streams")};
  return std::nullopt;
}

} // namespace

std::optional<Misuse> check_options(Options& o, llvm::ArrayRef<const OptionRow*> given) {
  if (program_tables().check)
    if (auto misuse = program_tables().check(o, given)) return misuse;
  if (auto misuse = check_devices(o)) return misuse;
  if (auto misuse = check_search_is_asked(o, given)) return misuse;
  if (auto misuse = check_strategy(o, given)) return misuse;
  if (auto misuse = check_onnx(o, given)) return misuse;
  if (!o.priors.empty() && llvm::is_contained(o.without, tangram::SearchPart::Priors))
    return Misuse{"`--priors` cannot be combined with `--without priors`"};
  for (const std::string* path : {&o.save_priors, &o.save_costs, &o.weights_out})
    if (*path == "-")
      return Misuse{"a search can only save to a file: `-` is only allowed for `-o`"};
  if (o.json && o.trace == "-")
    return Misuse{"`--json` and `--trace -` both write to standard output"};
  if (o.json && o.out_file == "-")
    return Misuse{"`--json` and `-o -` both write to standard output"};
  if (auto misuse = check_steps(o)) return misuse;
  if (!o.weights_out.empty() && o.out_file.empty() && o.command != CommandId::Run)
    return Misuse{"`--weights-out` requires `-o`: it writes the weights of that model"};
  return std::nullopt;
}

} // namespace tg::cli
