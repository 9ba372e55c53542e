// Left sides of rules, compiled: a flat list of steps, each of which picks an e-node out of a class
// and tests it. Variables are numbered by first occurrence, so that equal patterns of different
// rules are one pattern and are searched once.
#pragma once

#include "compiler/rules/rule.h"

#include <optional>
#include <vector>

namespace tg {

/// What is asked of an attribute slot or an operand of the node picked.
struct PatternTest {
  enum class Kind : uint8_t {
    Bind,    // the variable takes this value or class
    Same,    // the variable has it already
    Literal, // attribute: this value
    Absent,  // operand: of the none type
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
  /// The class to pick from: this operand of the node that an earlier step picked.
  /// Step 0 is given its node.
  uint32_t parent = 0, position = 0;
  uint32_t depth = 0;
  /// If valid: all attributes are literals, and this is their list.
  AttrsId attrs;
  llvm::SmallVector<PatternTest, 4> attr_tests, child_tests;
  bool operator==(const PatternStep&) const = default;
};

struct Pattern {
  std::vector<PatternStep> steps; // a parent before its children
  uint32_t class_vars = 0, value_vars = 0;
  uint32_t depth = 0; // of the deepest step; 0 for a single operator
  bool operator==(const Pattern&) const = default;
  /// Words of a row that describes a match: root node, classes, values.
  uint32_t width() const { return 1 + class_vars + value_vars; }
};

/// A pattern under the numbering of a rule: for each variable of the pattern, that of the rule.
struct PatternUse {
  uint32_t pattern = 0; // in RuleBook
  llvm::SmallVector<uint32_t, 8> class_map, value_map;
};

struct CompiledPattern {
  Pattern pattern;
  PatternUse use;
};

/// nullopt if the term is not an operator (a variable alone matches everything and is refused).
std::optional<CompiledPattern> compile_pattern(Symbols& symbols, const Rule& rule, TermId root);

} // namespace tg
