// Optimises models with open sizes. One search, at the sizes of a plain run, gives a recipe
// (recipe.h), which is repeated at other sizes of the ranges with their prices. If rewrites do not
// apply at a size, or gain much less there, a further search may find a better recipe. One recipe
// is kept if it is nearly the best at all tried sizes. Otherwise there are several, each for an
// interval of the size on which the choice depends. Bisection finds the ends of the intervals.
#pragma once

#include "compiler/api/files/open_model.h"
#include "compiler/api/optimize_model.h"
#include "compiler/api/recipe.h"

namespace tg {

/// Most recipes of one model, and most by which the cost of the recipe that serves a size may
/// exceed the least known cost there.
inline constexpr size_t kMaxRecipes = 4;
inline constexpr double kRecipeTolerance = 1.03;

/// Recipes for all sizes of a model. Any number of threads may use one.
class SizeRecipes {
public:
  struct Serving {
    tangram::Recipe recipe;
    sizes::Point searched_at;
    SizeRange interval; // of the deciding size
  };
  SizeRecipes(std::vector<OpenSize> sizes, size_t deciding, std::vector<Serving> recipes,
              size_t best_overall)
      : sizes_(std::move(sizes)), deciding_(deciding), recipes_(std::move(recipes)),
        best_overall_(best_overall) {}

  llvm::ArrayRef<OpenSize> sizes() const { return sizes_; }
  /// By ascending intervals, which together are the range of the deciding size.
  llvm::ArrayRef<Serving> recipes() const { return recipes_; }
  size_t index_at(llvm::ArrayRef<int64_t> point) const;
  const tangram::Recipe& at(llvm::ArrayRef<int64_t> point) const {
    return recipes_[index_at(point)].recipe;
  }
  /// Returns the recipe with the least geometric mean of costs at the tried sizes.
  const Serving& best_overall() const { return recipes_[best_overall_]; }
  /// Returns "S in 1..16" for one of several recipes, and all ranges for a single one.
  std::string sizes_text(const Serving& recipe) const;

private:
  std::vector<OpenSize> sizes_;
  size_t deciding_ = 0;
  std::vector<Serving> recipes_;
  size_t best_overall_ = 0;
};

/// Returns the points at which recipes are tried: the sizes of a plain run, and for each size its
/// ends, 1 and sizes between them with the others as in a plain run; then all ends at once.
std::vector<sizes::Point> points_to_try(llvm::ArrayRef<OpenSize> sizes);

struct SizesOptimized {
  OptimizedModel best; // at the sizes of a plain run; its report has the section of sizes
  LoadedModel source;  // there
  std::shared_ptr<const SizeRecipes> recipes = {}; // null without a chain of rewrites
};

/// Optimises a model whose check() succeeded. The searches after the first take at most half of its
/// time, or three seconds. Returns nullopt if the sink got errors.
std::optional<SizesOptimized> optimize_sizes(const OpenModel& model,
                                             const tangram::OptimizeOptions& options,
                                             std::shared_ptr<const ExternKernels> externs,
                                             OptimizeHost host, SourceManager& sources,
                                             DiagnosticSink& sink);

} // namespace tg
