// The enumerations of the public API, each with its words as used on the command line, at the
// prompt and in reports. All conversions from words use these tables. Also the source of prices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tangram {

/// `kRows` has the word of each enumerator, in order; "" for one that cannot be selected by name.
template <class E> struct Words;

/// Returns the word of an enumerator: "greedy-dag".
template <class E> constexpr std::string_view word(E value) {
  return Words<E>::kRows[static_cast<size_t>(value)];
}

/// Returns the enumerator with that word, if any.
template <class E> constexpr std::optional<E> from_word(std::string_view text) {
  size_t at = 0;
  for (std::string_view row : Words<E>::kRows) {
    if (!text.empty() && row == text) return static_cast<E>(at);
    ++at;
  }
  return std::nullopt;
}

/// Element types.
enum class DType : uint8_t { F32, F16, BF16, I32, I64, Bool, F64 };
template <> struct Words<DType> {
  static constexpr std::string_view kRows[] = {"f32", "f16", "bf16", "i32", "i64", "bool", "f64"};
};

/// The backends that Tangram can be built with; compile() reports those missing in this build.
enum class Backend : uint8_t {
#define TG_BACKEND(name, id) id,
#define TG_NO_BACKEND(name, id, ...) id,
#include "tangram/tables/backends.def"
#undef TG_BACKEND
#undef TG_NO_BACKEND
};
template <> struct Words<Backend> {
  static constexpr std::string_view kRows[] = {
#define TG_BACKEND(name, id) #name,
#define TG_NO_BACKEND(name, id, ...) #name,
#include "tangram/tables/backends.def"
#undef TG_BACKEND
#undef TG_NO_BACKEND
  };
};

/// The default backend: the processor.
inline constexpr Backend kDefaultBackend = Backend::Cpu;

/// The search strategy: None, Saturate, Random, Mcts, Anneal, Taso, Greedy.
enum class Search : uint8_t {
#define TG_STRATEGY(id, name, ...) id,
#include "tangram/tables/strategies.def"
#undef TG_STRATEGY
};
template <> struct Words<Search> {
  static constexpr std::string_view kRows[] = {
#define TG_STRATEGY(id, name, ...) name,
#include "tangram/tables/strategies.def"
#undef TG_STRATEGY
  };
};

/// The extractor of the best graph of an e-graph: Greedy, GreedyShared, GreedyDag, Ilp, Lp, Best.
enum class Extractor : uint8_t {
#define TG_EXTRACTOR(id, name, ...) id,
#include "tangram/tables/extractors.def"
#undef TG_EXTRACTOR
};
template <> struct Words<Extractor> {
  static constexpr std::string_view kRows[] = {
#define TG_EXTRACTOR(id, name, ...) name,
#include "tangram/tables/extractors.def"
#undef TG_EXTRACTOR
  };
};

/// The rules that may be used, by their effect on numbers: none; reordered sums; also possible loss
/// of digits; also truncating casts.
enum class Numerics : uint8_t { Exact, Reassociate, All, Lossy };
template <> struct Words<Numerics> {
  static constexpr std::string_view kRows[] = {"exact", "reassociate", "all", "lossy"};
};

/// The filter that keeps cycles out of a growing e-graph: an efficient one, the published one
/// (TENSAT: Yang et al., MLSys 2021), or none.
enum class CycleFilter : uint8_t { Efficient, Vanilla, None };
template <> struct Words<CycleFilter> {
  static constexpr std::string_view kRows[] = {"efficient", "vanilla", "none"};
};

/// The constraints that exclude cycles from the integer program: cuts when needed, or an order of
/// classes in real or integer variables.
enum class IlpCycles : uint8_t { None, Real, Int };
template <> struct Words<IlpCycles> {
  static constexpr std::string_view kRows[] = {"none", "real", "int"};
};

/// The operands that are in a cache while an operator is timed: as in a network of this size; all
/// that fit; none.
enum class CacheState : uint8_t { AsNetwork, Hot, Cold };
template <> struct Words<CacheState> {
  static constexpr std::string_view kRows[] = {"", "hot", "cold"};
};

/// Refinement by prices of the groups that the device launches at once. Auto: on if costs are of
/// this machine.
enum class Groups : uint8_t { Auto, On, Off };
template <> struct Words<Groups> {
  static constexpr std::string_view kRows[] = {"auto", "on", "off"};
};

/// Parts of the search Mcts that can be turned off, to measure their effect.
enum class SearchPart : uint8_t {
  Firing,
  Priors,
  Segments,
  Repeats,
  Saturation,
  Tree,
  Thorough,
  Focus,
};
template <> struct Words<SearchPart> {
  static constexpr std::string_view kRows[] = {"firing",     "priors", "segments", "repeats",
                                               "saturation", "tree",   "thorough", "focus"};
};

/// Default number of instances of each verified rule, and default seconds of a calibration.
inline constexpr int kRuleInstances = 200;
inline constexpr double kCalibrateSeconds = 60;

/// The source of prices, in microseconds for each operator.
struct CostSpec {
  enum class Source : uint8_t {
    Default,    // Calibrated if this build has a backend that can be measured, else Analytic
    Calibrated, // the price model of this machine
    Measured,   // every operator is timed on the backend
    Analytic,   // estimates by a roofline
    Table,      // a file written by `tg opt --save-costs`
  };
  Source source = Source::Default;
  std::optional<Backend> backend = {}; // for Calibrated and Measured; empty: the processor
  /// For Analytic the device, which may be absent ("cpu", "t4", "a100", "h200"), or "" for
  /// estimates of this machine, whose results are run beside the source. For Table the file.
  std::string name = {};

  static CostSpec calibrated(std::optional<Backend> backend = {}) {
    return {Source::Calibrated, backend, {}};
  }
  static CostSpec measured(std::optional<Backend> backend = {}) {
    return {Source::Measured, backend, {}};
  }
  static CostSpec analytic(std::string device = {}) {
    return {Source::Analytic, {}, std::move(device)};
  }
  static CostSpec table(std::string file) { return {Source::Table, {}, std::move(file)}; }
  /// Parses calibrated[:BACKEND], measured[:BACKEND], analytic[:DEVICE] or file:TABLE. Returns
  /// nothing for other texts.
  static std::optional<CostSpec> from_text(std::string_view text);
  /// Returns the same text; "" for Default.
  std::string text() const;

  bool operator==(const CostSpec&) const = default;
};

} // namespace tangram
