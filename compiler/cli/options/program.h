// The differences between the programs made of this folder: `tg`, and `tg-paper` (bench/paper),
// which is `tg` with more rows. Each program defines program_tables(), so the linker selects its
// tables and nothing is registered at run time.
#pragma once

#include "compiler/cli/options/arguments.h"
#include "compiler/cli/options/options.h"
#include "lang/core/result.h"

namespace tg::tune {
struct PlanTuneOptions;
} // namespace tg::tune

namespace tg::cli {

struct ProgramTables {
  llvm::StringLiteral name; // "tg"
  llvm::ArrayRef<CommandRow> commands;
  llvm::ArrayRef<OptionRow> options;
  /// Completes the given options, before the checks of `tg`.
  std::optional<Misuse> (*check)(Options& options,
                                 llvm::ArrayRef<const OptionRow*> given) = nullptr;
  /// Sets up the search of the program's own options for an optimisation. Errors: of files.
  Result<void> (*prepare)(const Options& options, tangram::OptimizeOptions& search) = nullptr;
  /// Applies the program's own options to the session of `tune`. The returned object is kept alive
  /// during the run.
  std::shared_ptr<const void> (*prepare_tuning)(const Options& options,
                                                tune::PlanTuneOptions& session) = nullptr;
};
const ProgramTables& program_tables();

/// The rows of `tg`.
llvm::ArrayRef<CommandRow> tg_commands();
llvm::ArrayRef<OptionRow> tg_options();

/// Parses the command line, runs the command, and returns the exit code.
int run_main(int argc, char** argv);

} // namespace tg::cli

/// An OptionRow from a row of an options.def; `place` is the path of the field from `options`.
#define TG_OPTION_ROW(place, flag, value_name, kind, value, limits, group, basic, commands,        \
                      strategies, help, detail)                                                    \
  {flag,                                                                                           \
   value_name,                                                                                     \
   OptionKind::kind,                                                                               \
   value,                                                                                          \
   limits,                                                                                         \
   OptionGroup::group,                                                                             \
   basic,                                                                                          \
   commands,                                                                                       \
   strategies,                                                                                     \
   help,                                                                                           \
   detail,                                                                                         \
   [](void* given) -> void* {                                                                      \
     auto& options = *static_cast<Options*>(given);                                                \
     Stored<OptionKind::kind, decltype(limits)>* field = &place;                                   \
     return field;                                                                                 \
   },                                                                                              \
   [](void* given) {                                                                               \
     auto& options = *static_cast<Options*>(given);                                                \
     place = initial<std::remove_reference_t<decltype(place)>>(value);                             \
   }},
