// A search for an operator's program from nothing: random programs first, then generations bred
// from the fastest, of which a model that learns from what was measured picks those to measure
// next. It is the backend of reuse, and what reuse is compared with. Source: after Ansor, OSDI
// 2020, sections 5.1 and 5.2, with a model of our own.
#pragma once

#include "runtime/tune/device.h"

namespace tg::tune {

struct FullSearchOptions {
  int64_t trials = 1000; // at most
  size_t batch = 32;     // measured between two fits of the model
  uint64_t seed = 1;
  bool only_random = false; // a baseline: no breeding and no model
  /// Ends after so many trials without a program that is faster by more than a hundredth; 0: never.
  int64_t patience = 0;
  /// Measured first, if it is there: the best of an earlier search, or a guess.
  std::optional<Program> start = {};
  std::optional<Measured> remembered = {}; // measured before (Trials::remember)
  bool to_the_end = false; // also where a program is fast enough (Device::enough_us)
};

struct FullSearchResult {
  std::optional<Measured> best;
  int64_t trials = 0;
  int64_t trials_to_best = 0;    // until the best program was found
  std::vector<Measured> ranking; // the fastest first, at most 16
};

FullSearchResult search_fully(const Operator& op, Device& device,
                              const FullSearchOptions& options = {});

} // namespace tg::tune
