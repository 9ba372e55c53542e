// The report of an optimisation, in the sections of report.def. Each phase gets the section that it
// fills; strategies, which explore and extract, get a FindingReport.
#pragma once

#include "compiler/extract/groups/group_refine.h"
#include "compiler/search/portfolio/portfolio.h"
#include "lang/core/support/repeated_times.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace tg {

/// Statistics of a rule while exploring, whether or not its results were chosen.
struct RuleActivity {
  std::string rule, declared;
  size_t matches = 0, applied = 0;
};

/// Costs by the groups that the device launches at once.
struct GroupReport {
  GroupPrice before;               // the source
  std::optional<GroupPrice> found; // the choice by operators' prices
  GroupPrice after;                // the result
  size_t priced = 0, moves = 0;    // graphs priced during refinement, and changes made
  bool ended = false;              // by the clock or the user
  double seconds = 0;
};

/// By rule, most often first, then by name.
using RuleCounts = std::vector<RuleCount>;

/// A recipe of a model with open sizes.
struct SizeRecipe {
#define TG_SIZE_RECIPE(type, field, value, meaning) type field = value;
#include "compiler/optimizer/report.def"
};

/// Sizes at which the recipes were tried.
struct SizeTrial {
#define TG_SIZE_TRIAL(type, field, value, meaning) type field = value;
#include "compiler/optimizer/report.def"
};

// A section has the rows of report.def that a phase fills, and the data of derived rows.
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
  std::vector<RuleActivity> activity; // rules that matched, in order
  PriorTable learned;                 // statistics of the rules
  /// The e-graph of the bound was saturated.
  bool holds_all = false;
};

struct ExtractionSection {
#define TG_EXTRACTION TG_FIELD
#include "compiler/optimizer/report.def"
  /// The extractor proved that no graph in the e-graph costs less; for Mcts, in that of the first
  /// bound.
  bool optimal = false;
  /// The e-graphs that bound the result, for Mcts; `lower_bound_us` is the bound of the first.
  std::vector<GraphBound> bounds;
  std::optional<GroupReport> groups; // on request, if group prices are available
};

struct RunsSection {
#define TG_RUNS TG_FIELD
#include "compiler/optimizer/report.def"
  std::optional<Comparison> comparison; // whole runs of the source and the found graph
  /// The search found a graph other than the source. Only judge() sets this and `source_returned`.
  bool found_other = false;
  Disturbance disturbance = Disturbance::None; // of the comparison, which may be repeated later
  bool slow_machine = false;                   // of the comparison, as in WholeRuns
  double tried_us = 0;                         // price of the graph that was run
  size_t finalists = 1;                        // distinct graphs run whole, without the source
  std::optional<Comparison> recalled_times;    // of an earlier result other than the source
  /// Time for loading and running the graphs, as far as this or an earlier search measured it.
  double judging_s = 0;

  /// The result is a graph other than the source.
  bool changed() const { return found_other && !source_returned; }
};

struct VerificationSection {
#define TG_VERIFICATION TG_FIELD
#include "compiler/optimizer/report.def"
};

struct SizesSection {
#define TG_SIZES TG_FIELD
#include "compiler/optimizer/report.def"
};

#undef TG_FIELD
#undef TG_FIELD_Filled_
#undef TG_FIELD_Derived_

/// The sections that are filled until a graph is found: by strategies and the refinement by groups.
struct FindingReport : ResultSection, SearchSection, ExtractionSection {
  /// Returns true if the bound holds for all graphs that the rules can derive: no limit and no
  /// interruption ended the search or the extraction.
  bool bounds_all() const { return lower_bound_us && holds_all && cut_extractions == 0; }
  /// Makes a graph other than the bounded one the result.
  void replace_result(double cost_us, RuleCounts rules) {
    cost_after_us = cost_us;
    rules_applied = std::move(rules);
    forget_bounds();
  }
  /// Must be called if prices change, or the result is not the bounded graph.
  void forget_bounds() {
    lower_bound_us.reset();
    bounds.clear();
    optimal = holds_all = false;
  }
};

struct OptimizeReport : FindingReport, RunsSection, VerificationSection, SizesSection {};

} // namespace tg
