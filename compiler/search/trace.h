// A trace of a search for display: the cost over time, the rules applied, the tree, and the steps
// from the source to the result. Filled if a pointer to it is given. Plain data; `compiler/report`
// writes it as JSON.
#pragma once

#include "compiler/egraph/ids.h"
#include "compiler/rules/rule_counts.h"

#include <string>
#include <vector>

namespace tg {

struct SearchTrace {
  /// The best cost, recorded at each improvement and at the end of each phase.
  struct Point {
    double seconds = 0, cost_us = 0;
    size_t simulations = 0, nodes = 0;
    std::string where; // "source", "window 3 of 12, nodes 40 to 71", "whole graph", ...
  };
  /// Applications of a rule in one column of the heat map: a decision, an iteration or a sweep.
  struct Application {
    uint32_t column = 0;
    RuleId rule{};
    uint32_t applied = 0;
    std::string where = {}; // the place or group of places, if any (place_text)
  };
  struct TreeNode {
    int32_t parent = -1; // index in `tree`; -1: a root
    RuleId rule = kSourceRule;
    uint32_t places = 0; // changed by the action; 0 for roots
    uint32_t visits = 0;
    double value = 0; // mean reward
    double cost_us = 0;
    size_t nodes = 0; // in the e-graph
    bool chosen = false;
    std::string where = {}; // as in Application
  };
  /// A step from source to result, made in one e-graph.
  struct Step {
    std::string where;
    std::vector<RuleCount> rules; // rules used in the result, with counts
    double before_us = 0, after_us = 0;
  };

  std::vector<Point> points;
  std::vector<Application> applications;
  std::vector<TreeNode> tree;
  std::vector<Step> steps;
  uint32_t columns = 0;

  static constexpr size_t kMostSearchColumns = 40;
  static constexpr size_t kMostTreeNodes = 4'000; // more cannot be displayed

  /// Sets the column. Searches with many steps share columns.
  void set_column(size_t step, size_t steps) {
    columns = static_cast<uint32_t>(step * kMostSearchColumns / steps);
  }

  /// Includes the current column only if it is not empty.
  uint32_t column_count() const {
    for (const Application& a : applications)
      if (a.column >= columns) return columns + 1;
    return columns;
  }

  void apply(RuleId rule, size_t applied, std::string where = "") {
    if (applied > 0)
      applications.push_back({columns, rule, static_cast<uint32_t>(applied), std::move(where)});
  }
};

} // namespace tg
