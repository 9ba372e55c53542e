// Searches for an operator's program without reuse: random programs first,
// then generations bred from the fastest. A model that learns from the measurements picks the
// programs to measure next.
// Reuse starts from its results and is compared with it. Source:
// after Ansor, OSDI 2020, sections 5.1 and 5.2, with a model of our own.
#pragma once

#include "runtime/tune/device.h"

namespace tg::tune {

struct FullSearchOptions {
  int64_t trials = 1000; // at most
  size_t batch = 32;     // programs measured between two fits of the model
  uint64_t seed = 1;
  bool only_random = false; // a baseline without breeding and without a model
  /// Ends after this number of trials without a program that is more than a hundredth faster; 0:
  /// never.
  int64_t patience = 0;
  /// Measured first if set: the best program of an earlier search, or a guess.
  std::optional<Program> start = {};
  std::optional<Measured> remembered = {}; // measured before (Trials::remember)
  bool to_the_end = false; // continues when a program is fast enough (Device::enough_us)
};

struct FullSearchResult {
  std::optional<Measured> best;
  int64_t trials = 0;
  int64_t trials_to_best = 0;    // until the best program was found
  std::vector<Measured> ranking; // fastest first, at most 16
};

FullSearchResult search_fully(const Operator& op, Device& device,
                              const FullSearchOptions& options = {});

} // namespace tg::tune
