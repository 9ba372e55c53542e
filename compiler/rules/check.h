// Type check of a rule when it is read: the left side is typed over random operand types that
// satisfy the conditions (sample.h), then the right side is.
#pragma once

#include "compiler/rules/rule.h"

#include <string>

namespace tg {

struct RuleFault {
  enum class Kind : uint8_t {
    None,
    NeverTyped,  // no operand types were found for which the left side is well typed
    NeverHolds,  // the left side can be typed, but the conditions held for none of the types tried
    NeverBuilt,  // wherever the left side is typed, the right side is not
    TypesDiffer, // the right side has another type
  };
  Kind kind = Kind::None;
  std::string rule;                  // its name
  std::string why;                   // what `infer` said, in the user's words
  std::string left, right;           // TypesDiffer: the two types
  size_t side = 0;                   // TypesDiffer: which result
  std::vector<std::string> operands; // "x: f32[2, 3]", "stride = [1, 1]": the types tried
};

/// Deterministic: the samples depend on the rule's name alone. Native rules are passed.
RuleFault check_rule(Symbols& symbols, const Rule& rule);

} // namespace tg
