// Left sides of rules in compiled form: a flat list of steps, each of which picks an e-node from a
// class and tests it. Variables are numbered by first occurrence, so that equal patterns of
// different rules are one pattern and are searched once.
#pragma once

#include "compiler/rules/rule.h"

#include <optional>
#include <vector>

namespace tg {

/// A test of an attribute slot or an operand of the picked node.
struct PatternTest {
  enum class Kind : uint8_t {
    Bind,    // binds the variable to this value or class
    Same,    // compares with the variable's binding
    Literal, // attribute: compares with this value
    Absent,  // operand: has the none type
  };
  Kind kind{};
  uint32_t place = 0; // slot or operand position
  uint32_t variable = 0;
  ValueId value;
  bool operator==(const PatternTest&) const = default;
};

struct PatternStep {
  OpKind op{};
  uint32_t arity = 0;
  /// The class to pick from: this operand of the node of an earlier step. The node of step 0 is
  /// given.
  uint32_t parent = 0, position = 0;
  uint32_t depth = 0;
  /// If valid, all attributes are literals and this is their list.
  AttrsId attrs;
  llvm::SmallVector<PatternTest, 4> attr_tests, child_tests;
  bool operator==(const PatternStep&) const = default;
};

struct Pattern {
  std::vector<PatternStep> steps; // parents before children
  uint32_t class_vars = 0, value_vars = 0;
  uint32_t depth = 0; // of the deepest step; 0 for a single operator
  bool operator==(const Pattern&) const = default;
  /// Number of words of a row that describes a match: root node, classes, values.
  uint32_t width() const { return 1 + class_vars + value_vars; }
};

/// A pattern as used by a rule: the rule's variable for each variable of the pattern.
struct PatternUse {
  uint32_t pattern = 0; // in RuleBook
  llvm::SmallVector<uint32_t, 8> class_map, value_map;
};

struct CompiledPattern {
  Pattern pattern;
  PatternUse use;
};

/// Compiles a pattern; nullopt if the term is not an operator (a variable alone would match
/// everything).
std::optional<CompiledPattern> compile_pattern(Symbols& symbols, const Rule& rule, TermId root);

} // namespace tg
