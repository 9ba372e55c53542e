// The options of `tg-paper` in addition to those of `tg`, as a struct generated from options.def.
#pragma once

#include "bench/paper/pact24/strategy.h"
#include "bench/paper/table/paper.h"
#include "compiler/cli/options/options.h"

namespace tg::paper {

/// With `--search mcts`: Pact24 is an older form of `--search pact24`.
enum class MctsProfile : uint8_t { Tangram, Pact24 };

} // namespace tg::paper

template <> struct tangram::Words<tg::paper::MctsProfile> {
  static constexpr std::string_view kRows[] = {"tangram", "pact24"};
};

namespace tg::paper {

struct OwnOptions {
#define TG_OPTION(field, flag, value_name, kind, value, limits, ...)                               \
  tangram::fields::Stored<cli::OptionKind::kind, decltype(tangram::fields::limits)> field =        \
      tangram::fields::initial<decltype(field)>(value);
#define TG_ALSO(...) // of cli::Options
#include "bench/paper/program/options.def"
};

/// Returns the own options of a command line.
OwnOptions& own(cli::Options& options);
const OwnOptions& own(const cli::Options& options);

/// `tg-paper train`, `tg-paper table`.
int run_train(cli::Session& session);
int run_table(cli::Session& session);

} // namespace tg::paper
