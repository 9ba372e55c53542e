#include "runtime/cuda/codegen/phases.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg::cuda {

namespace {

/// Collects the values read from memory on which an index depends.
/// Atoms may nest as deep as the operators that made them, so the stack is explicit.
void loaded_in(const IndexPool& pool, IndexId index, llvm::SmallVectorImpl<ExprId>& found) {
  llvm::SmallVector<IndexId, 8> open = {index};
  while (!open.empty()) {
    const IndexForm& form = pool.form(open.pop_back_val());
    for (const IndexTerm& term : form.terms) {
      const IndexAtom& atom = pool.atom(term.atom);
      if (atom.kind == IndexAtom::Kind::Loaded)
        found.push_back(atom.of);
      else if (atom.kind != IndexAtom::Kind::Variable)
        open.push_back(atom.of);
    }
  }
}

/// Returns the pass in which each stage can be computed: one later than its dependencies.
std::vector<uint32_t> levels(const Kernel& kernel) {
  std::vector<uint32_t> level(kernel.stages.size(), 0);
  for (uint32_t s = 0; s < kernel.stages.size(); ++s)
    for (ExprId id : reachable(kernel, kernel.stages[s].values, {}))
      if (const Expr& expr = kernel.exprs[id]; expr.kind == Expr::Kind::Stage)
        level[s] = std::max(level[s], level[expr.parameter] + 1);
  return level;
}

/// The maximum number of values that a thread keeps because they were read early.
constexpr size_t kMostEarly = 32;

bool worth_keeping(const Expr& expr) {
  bool in_row = (expr.variables & 2) != 0;
  return in_row && expr.kind != Expr::Kind::Number && expr.kind != Expr::Kind::Index;
}

/// Returns the expressions computed in one pass and read in a later one.
std::set<ExprId> kept_by(const Kernel& kernel, llvm::ArrayRef<Pass> passes) {
  std::set<ExprId> computed, kept;
  for (const Pass& pass : passes) {
    std::set<ExprId> earlier = computed, seen;
    auto roots = roots_of(kernel, pass);
    llvm::SmallVector<ExprId, 32> open(roots.begin(), roots.end());
    while (!open.empty()) {
      ExprId id = open.pop_back_val();
      if (!seen.insert(id).second) continue;
      if (earlier.count(id) && worth_keeping(kernel.exprs[id])) {
        kept.insert(id);
        continue;
      }
      computed.insert(id);
      open.append(dependencies(kernel, id));
    }
  }
  return kept;
}

/// Returns the loads of a row's elements that do not depend on a reduction and that the first pass
/// does not need.
std::vector<ExprId> loads_ahead(const Kernel& kernel, llvm::ArrayRef<Pass> passes) {
  std::set<ExprId> first = reachable(kernel, roots_of(kernel, passes[0]), {}), later;
  for (const Pass& pass : passes.drop_front())
    for (ExprId id : reachable(kernel, roots_of(kernel, pass), {})) later.insert(id);
  std::vector<ExprId> loads;
  for (ExprId id : later) {
    const Expr& expr = kernel.exprs[id];
    if (first.count(id) || expr.kind != Expr::Kind::Load || !worth_keeping(expr)) continue;
    if (llvm::none_of(reachable(kernel, {id}, {}),
                      [&](ExprId of) { return kernel.exprs[of].kind == Expr::Kind::Stage; }))
      loads.push_back(id);
  }
  return loads;
}

} // namespace

llvm::SmallVector<ExprId, 6> dependencies(const Kernel& kernel, ExprId id) {
  const Expr& expr = kernel.exprs[id];
  llvm::SmallVector<ExprId, 6> found(expr.args.begin(), expr.args.end());
  for (const ConditionTerm& term : kernel.exprs.terms(expr.condition))
    if (term.of_value)
      found.push_back(term.id);
    else
      loaded_in(kernel.indices, term.id, found);
  if (expr.kind == Expr::Kind::Load || expr.kind == Expr::Kind::Index)
    loaded_in(kernel.indices, expr.index, found);
  return found;
}

std::set<ExprId> reachable(const Kernel& kernel, llvm::ArrayRef<ExprId> roots,
                           const std::set<ExprId>& stop) {
  std::set<ExprId> seen;
  llvm::SmallVector<ExprId, 32> open(roots.begin(), roots.end());
  while (!open.empty()) {
    ExprId id = open.pop_back_val();
    if (!seen.insert(id).second || stop.count(id)) continue;
    open.append(dependencies(kernel, id));
  }
  return seen;
}

llvm::SmallVector<ExprId, 16> roots_of(const Kernel& kernel, const Pass& phase) {
  llvm::SmallVector<ExprId, 16> roots(phase.early.begin(), phase.early.end());
  for (uint32_t stage : phase.stages)
    roots.append(kernel.stages[stage].values.begin(), kernel.stages[stage].values.end());
  if (phase.stores)
    for (const Store& store : kernel.stores) {
      roots.append(store.values.begin(), store.values.end());
      for (IndexId index : store.indices) {
        llvm::SmallVector<ExprId, 2> found;
        loaded_in(kernel.indices, index, found);
        roots.append(found);
      }
    }
  return roots;
}

Phases plan_phases(const Kernel& kernel) {
  Phases phases;
  std::vector<uint32_t> level = levels(kernel);
  for (uint32_t s = 0; s < level.size(); ++s) {
    if (level[s] >= phases.passes.size()) phases.passes.resize(level[s] + 1);
    phases.passes[level[s]].stages.push_back(s);
  }
  phases.passes.push_back({{}, true});
  int64_t threads = kernel.tunables.row_threads;
  if (kernel.schedule == KernelSchedule::Rows && kernel.iterations * threads <= kEnoughThreads) {
    phases.passes[0].early = loads_ahead(kernel, phases.passes);
    phases.kept = kept_by(kernel, phases.passes);
    auto steps = static_cast<size_t>((kernel.row + threads - 1) / threads);
    if (steps * phases.kept.size() <= kMostEarly) return phases;
    phases.passes[0].early.clear();
  }
  phases.kept = kept_by(kernel, phases.passes);
  return phases;
}

int pack_width(DType dtype, int vector) {
  return std::min(vector, static_cast<int>(16 / dtype_size(dtype)));
}

std::map<ExprId, Pack> find_packs(Kernel& kernel, const std::set<ExprId>& exprs) {
  using Place = std::tuple<uint32_t, ConditionId, IndexId>;
  std::map<Place, ExprId> loads;
  for (ExprId id : exprs)
    if (const Expr& e = kernel.exprs[id]; e.kind == Expr::Kind::Load)
      loads[{e.parameter, e.condition, e.index}] = id;
  std::map<ExprId, Pack> packs;
  for (const auto& [place, leader] : loads) {
    auto [parameter, condition, index] = place;
    int width = pack_width(kernel.exprs[leader].dtype, kernel.tunables.vector);
    for (; width > 1; width /= 2) {
      if (!kernel.indices.divisible(index, width)) continue;
      llvm::SmallVector<ExprId, 16> members;
      for (int lane = 0; lane < width; ++lane) {
        auto it = loads.find({parameter, condition, kernel.indices.shift(index, lane)});
        if (it == loads.end() || packs.count(it->second)) break;
        members.push_back(it->second);
      }
      if (members.size() != static_cast<size_t>(width)) continue;
      for (int lane = 0; lane < width; ++lane) packs[members[lane]] = {leader, lane, width};
      break;
    }
  }
  return packs;
}

bool packs(Kernel& kernel, const Store& store, size_t first, int width) {
  if (first + static_cast<size_t>(width) > store.indices.size()) return false;
  if (!kernel.indices.divisible(store.indices[first], width)) return false;
  for (int lane = 1; lane < width; ++lane)
    if (store.indices[first + lane] != kernel.indices.shift(store.indices[first], lane))
      return false;
  return true;
}

} // namespace tg::cuda
