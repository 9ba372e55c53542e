// A graph whose sizes are open: its structure, and its integers as expressions of the sizes. It is
// fitted to graphs of one model at several sizes (lang/core/sizes/fit.h), so nothing that builds or
// rewrites graphs needs to know about open sizes.
#pragma once

#include "compiler/ir/to_text.h"
#include "lang/check/size_range.h"
#include "lang/core/sizes/algebra.h"

#include <map>

namespace tg {

/// A size of a model that may take every value of a range.
struct OpenSize {
  std::string name;
  SizeRange range;
  int64_t sample = 0; // the size of a plain run

  std::string text() const { return name + " in " + range.text(); } // "S in 1..2048"
  bool operator==(const OpenSize&) const = default;
};

/// Returns "S in 1..2048, N in 1..".
std::string text_of(llvm::ArrayRef<OpenSize> sizes);
/// Returns "S = 128, N = 2".
std::string text_of(llvm::ArrayRef<OpenSize> sizes, llvm::ArrayRef<int64_t> point);

struct OpenGraph {
  Graph sample; // at the first of the points
  std::vector<OpenSize> sizes;
  std::shared_ptr<sizes::Algebra> algebra; // its sizes are those above, in this order
  /// The integers that differ between sizes; all others are those of the sample. Types that are
  /// attributes (of inputs, constants and `iota`) are found as shapes.
  std::map<IntegerPlace, sizes::Expr> varying;

  /// Returns nullopt for an integer that is the same for all sizes.
  std::optional<sizes::Expr> find(const IntegerPlace& place) const;
  /// Returns the expressions as text, for TextOptions::open.
  OpenText text() const;
};

/// Fits expressions to the graphs of a model at these points, one point for each graph. The first
/// is the sample. The graphs must have one structure: equal operators, operands, and attributes
/// other than integers. `names`, if given, has names of the sample's nodes for messages. Errors:
/// `unsupported` names the first node that differs in structure, `not_constant` one with an integer
/// that is not an expression of the sizes.
Result<OpenGraph> fit_graph(llvm::ArrayRef<OpenSize> sizes, llvm::ArrayRef<sizes::Point> points,
                            llvm::ArrayRef<Graph> graphs,
                            const llvm::DenseMap<uint32_t, std::string>* names = nullptr);

/// Compares the graph of the model at another point with the expressions: the types of inputs and
/// outputs, and all integers if the graph has the same structure there. (At small sizes it may not:
/// nothing is repeated along an axis of one element.) Errors: `not_constant`, as above.
Result<void> check_at(const OpenGraph& open, const sizes::Point& point, const Graph& graph,
                      const llvm::DenseMap<uint32_t, std::string>* names = nullptr);

/// Returns the generic model: to_text of the sample with the expressions in place of integers, and
/// a parameter with a range for each size.
std::string to_text(const OpenGraph& graph, TextOptions options = {});

} // namespace tg
