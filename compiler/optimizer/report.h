// The report of an optimisation, in the sections of report.def. A phase gets the section that it
// fills; the strategy of a search, which explores and extracts, and the steps of optimize() get the
// whole.
#pragma once

#include "compiler/extract/groups/group_refine.h"
#include "compiler/search/portfolio/portfolio.h"
#include "lang/core/support/repeated_times.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace tg {

/// What a rule did while exploring, whether or not its work was chosen.
struct RuleActivity {
  std::string rule, declared;
  size_t matches = 0, applied = 0;
};

/// Costs by what the device launches at once.
struct GroupReport {
  GroupPrice before;               // the source
  std::optional<GroupPrice> found; // what operators' prices chose
  GroupPrice after;                // the result
  size_t priced = 0, moves = 0;    // graphs asked for while refining; what was changed
  bool ended = false;              // by the clock, or the user
  double seconds = 0;
};

/// By rule, most often first, then by name.
using RuleCounts = std::vector<RuleCount>;

// A section has the rows of report.def that a phase fills, and what those rows are derived from.
#define TG_FIELD_Filled_(type, field, value) type field = value;
#define TG_FIELD_Derived_(...)
#define TG_FIELD(origin, written, type, field, value, meaning)                                     \
  TG_FIELD_##origin##_(type, field, value)

struct ResultSection {
#define TG_RESULT TG_FIELD
#include "compiler/optimizer/report.def"
};

struct SearchSection {
#define TG_SEARCH TG_FIELD
#include "compiler/optimizer/report.def"
  std::vector<RuleActivity> activity; // of rules that matched, in their order
  PriorTable learned;                 // what the search saw of its rules
  /// The e-graph of the bound was grown until no rule had anything to add.
  bool holds_all = false;
};

struct ExtractionSection {
#define TG_EXTRACTION TG_FIELD
#include "compiler/optimizer/report.def"
  /// The extractor proved that no graph of the e-graph costs less; for Mcts, of the first bound.
  bool optimal = false;
  /// The e-graphs that bound the result, if Mcts knows them; `lower_bound_us` is of the first.
  std::vector<GraphBound> bounds;
  std::optional<GroupReport> groups; // on request, and if there are prices of groups
};

struct RunsSection {
#define TG_RUNS TG_FIELD
#include "compiler/optimizer/report.def"
  std::optional<Comparison> comparison; // the source and the found graph, run whole
  /// The search found another graph than the source. judge() alone sets this and
  /// `source_returned`.
  bool found_other = false;
  Disturbance disturbance = Disturbance::None; // of the comparison: it may differ another day
  bool slow_machine = false;                   // of it, as WholeRuns has it
  double tried_us = 0;                         // the price of what was run
  size_t finalists = 1; // distinct graphs that were measured whole, beside the source
  std::optional<Comparison> recalled_times; // of an earlier result that is not the source
  /// What loading and running the graphs takes, as far as this search or one before it knows.
  double judging_s = 0;

  /// The result is another graph than the source.
  bool changed() const { return found_other && !source_returned; }
};

struct VerificationSection {
#define TG_VERIFICATION TG_FIELD
#include "compiler/optimizer/report.def"
};

#undef TG_FIELD
#undef TG_FIELD_Filled_
#undef TG_FIELD_Derived_

struct OptimizeReport : ResultSection,
                        SearchSection,
                        ExtractionSection,
                        RunsSection,
                        VerificationSection {
  /// True if the bound may be stated of everything that the rules lead to: no limit and no
  /// interruption ended the search or the extraction.
  bool bounds_all() const { return lower_bound_us && holds_all && cut_extractions == 0; }
  /// For a result that is another graph than the bounded one.
  void forget_bounds() {
    lower_bound_us.reset();
    bounds.clear();
    optimal = holds_all = false;
  }
};

} // namespace tg
