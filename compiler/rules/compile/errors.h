// What is wrong with a rule. The first mistake is reported; what else is wrong would follow from
// it.
#pragma once

#include "lang/core/diagnostic.h"

#include <optional>

namespace tg {

class RuleErrors {
public:
  RuleErrors(bool reversed, DiagnosticSink& sink) : reversed_(reversed), sink_(sink) {}

  std::nullopt_t fail(Diagnostic d) {
    if (!failed_) {
      if (reversed_) d.notes.push_back("the rule is two-way; this is its direction right to left");
      sink_.report(std::move(d));
    }
    return give_up();
  }
  /// At what was reported before.
  std::nullopt_t give_up() {
    failed_ = true;
    return std::nullopt;
  }
  bool failed() const { return failed_; }

private:
  bool reversed_, failed_ = false;
  DiagnosticSink& sink_;
};

} // namespace tg
