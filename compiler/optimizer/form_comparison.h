// Compares graphs in the forms in which they are used (OptimizeOptions::used_as), by price and by
// number of operators. A difference in price counts if prices can tell it from their errors.
#pragma once

#include "compiler/optimizer/candidate.h"

#include <llvm/ADT/StringMap.h>

namespace tg {

/// The rank of a graph among equivalent ones.
struct GraphRank {
  double cost_us = 0;
  size_t operators = 0;

  /// Returns true if it costs less by more than the margin, or not more with fewer operators.
  bool is_before(const GraphRank& other, double margin_us = 0) const {
    if (costs_more(other.cost_us, cost_us + margin_us)) return true;
    return !costs_more(cost_us, other.cost_us) && operators < other.operators;
  }
};

enum class Preference { None, Source, Found };

class FormComparison {
public:
  FormComparison(llvm::ArrayRef<Rule> rules, PriceCache& prices, const OptimizeOptions& options)
      : rules_(rules), prices_(prices), options_(options) {}

  /// Returns None if the forms are equal, or if neither has a clear advantage.
  Preference prefer(const UsedForm& source, const UsedForm& found);

private:
  Graph with_kernels(const Graph& graph) const;
  GraphRank rank(const UsedForm& form, const Graph& with_kernels);
  double margin_us(const Graph& a, const Graph& b);

  llvm::ArrayRef<Rule> rules_;
  PriceCache& prices_;
  const OptimizeOptions& options_;
  llvm::StringMap<double> saved_; // by digest of the joined graph
};

} // namespace tg
