// Names of the verdicts on rules, for messages of tests.
#pragma once

#include "compiler/verify/verify_rule.h"

namespace tg {

inline llvm::StringRef status_name(RuleVerdict::Status status) {
  switch (status) {
  case RuleVerdict::Status::Tested: return "tested";
  case RuleVerdict::Status::Untested: return "untested";
  case RuleVerdict::Status::Refuted: return "refuted";
  case RuleVerdict::Status::Empty: return "empty";
  case RuleVerdict::Status::Fault: return "fault";
  case RuleVerdict::Status::Stopped: return "stopped";
  }
  return "";
}

} // namespace tg
