// An instance of a rule: types for its class variables and values for its value variables, at which
// its terms can be typed and built.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/rules/eval.h"
#include "compiler/rules/rule.h"

#include <string>
#include <vector>

namespace tg {

/// Instances are small, so that both sides can be evaluated thousands of times.
inline constexpr int64_t kMaxInstanceElements = 4096;

struct RuleInstance : ClassFacts {
  std::vector<TypeId> types; // by class variable
  std::vector<bool> weights, constants;
  /// For constants: one number for all elements, or one for each. Empty: a number by its position.
  std::vector<std::vector<double>> literals;
  llvm::SmallVector<ValueId, 8> values;

  TypeId type(uint32_t class_var) const override { return types[class_var]; }
  bool weight_only(uint32_t class_var) const override { return weights[class_var]; }
  bool constant(uint32_t class_var) const override { return constants[class_var]; }
};

/// Types the terms under `root` at this instance, by TermId; returns false and sets `why` if one is
/// ill-typed. Terms may be of either side; attributes of the left side are the instance's values.
bool type_terms(Symbols& symbols, const Rule& rule, const RuleInstance& instance, TermId root,
                std::vector<TypeId>& types, std::string* why = nullptr);

/// Builds the term under `root` into a graph whose leaves are the instance's class variables, under
/// their names, as weights, constants, absent operands, or inputs. `nodes`, by TermId, may be kept
/// from other roots. Invalid, with `why`, if a term is ill-typed.
NodeId build_term(Graph& graph, const Rule& rule, const RuleInstance& instance, TermId root,
                  std::vector<NodeId>& nodes, std::string* why = nullptr);

/// Returns "x: f32[2, 3]" for each class variable, "stride = [1, 1]" for each value variable.
std::vector<std::string> describe(const Symbols& symbols, const Rule& rule,
                                  const RuleInstance& instance);

} // namespace tg
