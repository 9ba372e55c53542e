#include "compiler/verify/counterexample/probe.h"

#include "lang/core/formula.h"
#include "lang/core/semantics/semantics.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

constexpr size_t kLiterals = 64;
constexpr size_t kPaired = 12; // up to this many literals are paired, others only get neighbours
constexpr double kLittle = 0x1p-20;

void ascending(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// Adds the literals of formulas; 0 and 1 are inputs anyway.
void add_literals(OpKind op, std::vector<double>& values) {
  const Formula* formula = formula_of(op);
  if (!formula) return;
  for (const FormulaStep& step : formula->steps())
    if (step.kind == FormulaStep::Kind::Apply)
      add_literals(step.op, values);
    else if (step.kind == FormulaStep::Kind::Literal && step.literal != 1)
      values.push_back(step.literal);
}

/// A cast clamps a float beyond the range of an integer dtype to its limit.
void add_cast_limits(const Graph& graph, NodeId id, std::vector<double>& values) {
  if (graph.node(id).op != OpKind::Cast) return;
  DType from = graph.type(graph.operands(id)[0]).dtype, to = graph.type(id).dtype;
  if (is_float(from) && is_integer(to)) values.push_back(to == DType::I32 ? 0x1p31 : 0x1p63);
}

void add_attributes(const Graph& graph, NodeId id, std::vector<double>& values) {
  const OpInfo& info = op_info(graph.node(id).op);
  add_literals(info.kind, values);
  add_cast_limits(graph, id, values);
  for (size_t slot = 0; slot < graph.attrs(id).size(); ++slot) {
    const Value& value = graph.attr(id, slot);
    if (value.is(Value::Kind::Float)) values.push_back(value.real);
    if (info.kind != OpKind::Constant) continue;
    values.insert(values.end(), value.reals.begin(), value.reals.end());
    if (value.is(Value::Kind::Ints))
      for (int64_t n : value.ints) values.push_back(static_cast<double>(n));
  }
}

} // namespace

std::vector<double> literals_of(const Graph& graph, llvm::ArrayRef<NodeId> roots) {
  std::vector<bool> needed(graph.size());
  for (NodeId id : roots) needed[id.index] = true;
  std::vector<double> values;
  for (size_t i = graph.size(); i-- > 0;) {
    if (!needed[i]) continue;
    NodeId id{static_cast<uint32_t>(i)};
    for (NodeId operand : graph.operands(id)) needed[operand.index] = true;
    add_attributes(graph, id, values);
  }
  values.erase(std::remove_if(values.begin(), values.end(),
                              [](double x) { return x == 0 || !std::isfinite(x); }),
               values.end());
  ascending(values);
  if (values.size() <= kLiterals) return values;
  std::stable_sort(values.begin(), values.end(), [](double a, double b) {
    return std::abs(std::log(std::abs(a))) < std::abs(std::log(std::abs(b)));
  });
  values.resize(kLiterals);
  ascending(values);
  return values;
}

std::vector<double> threshold_values(llvm::ArrayRef<double> literals) {
  std::vector<double> values;
  auto add = [&](double centre) {
    for (double t : {centre, -centre})
      values.insert(values.end(),
                    {t, t * (1 - kLittle), t * (1 + kLittle), t - 1, t + 1, t / 2, t * 2});
  };
  for (double a : literals) add(a);
  for (double a : literals) // thresholds for squares, cubes and roots
    for (double x : {std::sqrt(std::abs(a)), std::cbrt(a), a * a, 1 / a}) {
      values.push_back(x);
      values.push_back(-x);
    }
  auto own = static_cast<std::ptrdiff_t>(values.size());
  if (literals.size() <= kPaired)
    for (double a : literals)
      for (double b : literals)
        for (double centre : {a + b, a - b, a * b, a / b}) add(centre);
  auto mixed = [](double x) { return scramble(llvm::DoubleToBits(x)); };
  std::sort(values.begin() + own, values.end(),
            [&](double a, double b) { return mixed(a) < mixed(b); });
  llvm::DenseSet<uint64_t> seen; // bit patterns, because doubles have no value for empty entries
  llvm::erase_if(values, [&](double x) {
    return !std::isfinite(x) || !seen.insert(llvm::DoubleToBits(x + 0.0)).second;
  });
  return values;
}

} // namespace tg
