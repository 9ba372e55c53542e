// The option tables of `tg-paper`: the rows of `tg`, some of them extended to more commands and
// strategies, and the rows of this folder.
#include "compiler/cli/options/program.h"

#include "bench/paper/learned/followed_policy.h"
#include "bench/paper/learned/train_agent.h"
#include "bench/paper/program/own_options.h"
#include "bench/paper/tuning/published.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::paper {

using cli::CommandId;
using cli::CommandRow;
using cli::CommandSet;
using cli::Misuse;
using cli::OptionRow;
using llvm::StringRef;

OwnOptions& own(cli::Options& options) {
  if (!options.own.has_value()) options.own = OwnOptions();
  return *std::any_cast<OwnOptions>(&options.own);
}

const OwnOptions& own(const cli::Options& options) {
  static const OwnOptions defaults;
  const auto* given = std::any_cast<OwnOptions>(&options.own);
  return given ? *given : defaults;
}

namespace {

enum class OwnCommand : uint8_t {
#define TG_COMMAND(id, ...) id,
#include "bench/paper/program/commands.def"
};
constexpr CommandId id_of(OwnCommand command) {
  return static_cast<CommandId>(static_cast<uint8_t>(CommandId::Own) +
                                static_cast<uint8_t>(command));
}

namespace columns { // the words that the rows are written in

// NOLINTBEGIN(readability-identifier-naming): as the rows name them
constexpr CommandSet None;
constexpr CommandSet Train{id_of(OwnCommand::Train)}, Table{id_of(OwnCommand::Table)},
    Tune{CommandId::Tune};
// NOLINTEND(readability-identifier-naming)
constexpr CommandSet kSearches =
    CommandId::Opt | CommandId::Explain | CommandId::Run | CommandId::Prompt;
constexpr CommandSet kBoth = Train | Table;
constexpr size_t kMany = 1'000'000;
using namespace tangram::fields;
using cli::OptionGroup;
using cli::OptionKind;
using cli::Options;

constexpr CommandRow kCommands[] = {
#define TG_COMMAND(id, name, run, group, operand, least, most, files, summary, help)               \
  {id_of(OwnCommand::id),                                                                          \
   name,                                                                                           \
   run,                                                                                            \
   cli::CommandGroup::group,                                                                       \
   operand,                                                                                        \
   least,                                                                                          \
   most,                                                                                           \
   files,                                                                                          \
   summary,                                                                                        \
   help},
#include "bench/paper/program/commands.def"
};

constexpr OptionRow kOptions[] = {
#define TG_OPTION(field, ...) TG_OPTION_ROW(own(options).field, __VA_ARGS__)
#define TG_ALSO(field, ...) TG_OPTION_ROW(options.field, __VA_ARGS__)
#include "bench/paper/program/options.def"
};

/// Rows of `tg` that commands of this program also accept, and the commands whose --help shows
/// them.
struct SharedRow {
  llvm::StringLiteral flag;
  CommandSet commands, basic;
};
constexpr SharedRow kTaken[] = {
    {"--model", Train, Train},         {"--set", Train, Train},
    {"--shape", Train, None},          {"--dim", Train, None},
    {"--rules", kBoth, None},          {"--numerics", Train, None},
    {"--trust-rules", Train, None},    {"--rule-cache", Train, None},
    {"--budget", Table, None},         {"--depth", Table, None},
    {"--cost", Train, None},           {"--cost-db", kBoth, None},
    {"--memory-limit", kBoth, None},   {"--threads", kBoth, kBoth},
    {"--search-threads", Table, None}, {"--seed", kBoth, None},
    {"--json", kBoth, kBoth},          {"--quiet", kBoth, kBoth},
    {"--verbose", Train, Train},
};

/// Rows of `tg` that searches of this program also use.
struct Widened {
  llvm::StringLiteral flag, strategies, detail; // detail "": unchanged
};
constexpr Widened kWidened[] = {
    {"--extract", "none saturate mcts random pact24 greedy", ""},
    {"--cycle-filter", "saturate mcts random pact24 greedy", ""},
    {"--ilp-cycles", "none saturate mcts random pact24 greedy", ""},
    {"--budget", "mcts anneal taso random pact24 rl",
     "mcts, pact24: simulations for a decision (128); anneal: moves (4000); taso: graphs (300); "
     "random: rollouts (64); rl: episodes (8)."},
    {"--depth", "mcts random pact24 rl", "rl: steps of an episode (100)."},
    {"--exploration", "mcts pact24", ""},
    {"--policy", "mcts rl",
     "A file that `tg-paper train` writes. mcts: guide, gains or motifs, which give priors; rl: a "
     "policy that chooses every step."},
};

} // namespace columns

constexpr StringRef kPublished = "pact24", kFollowed = "rl"; // searches of this program only

/// Adds the searches of this program to --search.
void widen_search(OptionRow& row) {
  row.limits.words = "none|saturate|random|mcts|pact24|anneal|taso|greedy|rl";
  row.field = [](void* options) { return options; };
  row.limits.set = [](std::string_view word, void* given) {
    auto& options = *static_cast<cli::Options*>(given);
    std::optional<tangram::Search> search = tangram::from_word<tangram::Search>(word);
    options.search = search.value_or(tangram::Search::None);
    options.strategy = search ? "" : std::string(word);
  };
  row.reset = [](void* given) {
    auto& options = *static_cast<cli::Options*>(given);
    options.search = tangram::Search::Mcts;
    options.strategy.clear();
  };
}

/// Adds words to --tuner that switch off our additions to the publication, and its ablations.
void widen_tuner(OptionRow& row) {
  row.limits.words =
      "by-rule|library|no-guess|to-the-end|formulas|occurrences|random-shapes|all-bridges";
  row.detail =
      "by-rule: keep the kernel that the fixed rule chooses; library: also time each operator on "
      "oneDNN, in some runs of the model; no-guess: do not start searches from the schedule by "
      "rule; to-the-end: do not stop at the peak, or reuse after eight trials without a gain; "
      "formulas: estimate trials without checking legality; occurrences: prefer a full search for "
      "operators that take most "
      "of the time; random-shapes: choose the shapes of reuse "
      "without a cost model; all-bridges: also use bridging operators between bridging operators.";
}

std::vector<OptionRow> make_options() {
  std::vector<OptionRow> rows = cli::tg_options().vec();
  auto named = [&](StringRef flag) {
    return llvm::find_if(rows, [&](const OptionRow& row) { return row.flag == flag; });
  };
  for (const columns::SharedRow& taken : columns::kTaken) {
    auto row = named(taken.flag);
    row->commands = row->commands | taken.commands;
    row->basic = row->basic | taken.basic;
  }
  for (const columns::Widened& widened : columns::kWidened) {
    auto row = named(widened.flag);
    row->strategies = widened.strategies;
    if (!widened.detail.empty()) row->detail = widened.detail;
  }
  widen_search(*named("--search"));
  widen_tuner(*named("--tuner"));
  rows.insert(rows.end(), std::begin(columns::kOptions), std::end(columns::kOptions));
  return rows;
}

std::vector<CommandRow> make_commands() {
  std::vector<CommandRow> rows = cli::tg_commands().vec();
  auto here =
      llvm::find_if(rows, [](const CommandRow& row) { return row.id == CommandId::Report; });
  rows.insert(here, std::begin(columns::kCommands), std::end(columns::kCommands));
  return rows;
}

bool same_file(StringRef a, StringRef b) { return a == b || llvm::sys::fs::equivalent(a, b); }

/// Checks the options of training: followed policies learn from episodes, guiding ones from
/// searches.
std::optional<Misuse> check_training(cli::Options& o, llvm::ArrayRef<const OptionRow*> given) {
  if (o.command != id_of(OwnCommand::Train)) return std::nullopt;
  OwnOptions& train = own(o);
  constexpr StringRef kOfNetworks[] = {"--again", "--learning-rate"};
  constexpr StringRef kOfEpisodes[] = {"--best",          "--episodes",  "--depth",
                                       "--measure-every", "--by-prices", "--published-slips"};
  bool guides = is_agent(o.policy);
  if (!train.best_file.empty() && same_file(train.best_file, o.out_file))
    return Misuse{"`--best` and `-o` name the same file"};
  if (o.json && train.best_file == "-")
    return Misuse{"`--json` and `--best -` both write to standard output"};
  for (const OptionRow* row : given) {
    bool of_episodes = llvm::is_contained(kOfEpisodes, StringRef(row->flag));
    if (guides ? of_episodes : row->flag == "--rounds")
      return Misuse{llvm::formatv("`{0}` is not supported by `--policy {1}`", row->flag, o.policy),
                    guides ? "set `--rounds`, the number of searches of each part"
                           : "set `--episodes`"};
    if (guides && o.policy != "guide" && llvm::is_contained(kOfNetworks, StringRef(row->flag)))
      return Misuse{llvm::formatv("`{0}` is not supported by `--policy {1}`", row->flag, o.policy),
                    "each training computes this table from the beginning"};
  }
  bool rate_given =
      llvm::any_of(given, [](const OptionRow* row) { return row->flag == "--learning-rate"; });
  if (guides && !rate_given) train.learning_rate = kGuideRate;
  return std::nullopt;
}

std::optional<Misuse> check(cli::Options& o, llvm::ArrayRef<const OptionRow*> given) {
  if (o.search == tangram::Search::Mcts && own(o).mcts_profile == MctsProfile::Pact24) {
    o.search = tangram::Search::None;
    o.strategy = kPublished.str();
  }
  return check_training(o, given);
}

Result<void> prepare(const cli::Options& o, tangram::OptimizeOptions& search) {
  if (o.strategy == kPublished) {
    search.own_search = published_tree_search(own(o).reward, own(o).reuse_tree, search);
  } else if (o.strategy == kFollowed) {
    TG_TRY(search.own_search, followed_policy(search));
    search.policy.clear(); // already opened
  } else if (o.search == tangram::Search::Mcts && !o.policy.empty()) {
    TG_TRY(search.own_search, guided_search(o.policy));
  }
  return {};
}

std::shared_ptr<const void> prepare_tuning(const cli::Options& o, tune::PlanTuneOptions& session) {
  apply_variants(own(o).reuse, o.tuner, session);
  std::shared_ptr<const tune::ReuseBaseline> baseline = published_baseline(own(o).reuse);
  session.baseline = baseline.get();
  return baseline;
}

} // namespace
} // namespace tg::paper

namespace tg::cli {

const ProgramTables& program_tables() {
  static const std::vector<CommandRow> commands = paper::make_commands();
  static const std::vector<OptionRow> options = paper::make_options();
  static const ProgramTables paper{"tg-paper",   commands,       options,
                                   paper::check, paper::prepare, paper::prepare_tuning};
  return paper;
}

} // namespace tg::cli
