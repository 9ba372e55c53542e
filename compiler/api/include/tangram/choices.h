// What can be chosen in the public API: its enumerations, each with its words beside it (those of
// the command line, of the prompt and of reports; nothing else turns a word into one of them), and
// the source of prices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tangram {

/// `kRows`: the word of each enumerator, in their order; "" for one that nobody asks for by name.
template <class E> struct Words;

/// "greedy-dag"
template <class E> constexpr std::string_view word(E value) {
  return Words<E>::kRows[static_cast<size_t>(value)];
}

/// Nothing where no enumerator has that word.
template <class E> constexpr std::optional<E> from_word(std::string_view text) {
  size_t at = 0;
  for (std::string_view row : Words<E>::kRows) {
    if (!text.empty() && row == text) return static_cast<E>(at);
    ++at;
  }
  return std::nullopt;
}

/// Types of elements.
enum class DType : uint8_t { F32, F16, BF16, I32, I64, Bool, F64 };
template <> struct Words<DType> {
  static constexpr std::string_view kRows[] = {"f32", "f16", "bf16", "i32", "i64", "bool", "f64"};
};

/// What runs models: all that Tangram can be built with; compile() says which this build lacks.
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

/// Where none is named: the processor.
inline constexpr Backend kDefaultBackend = Backend::Cpu;

/// How graphs are found: None, Saturate, Random, Mcts, Anneal, Taso, Greedy.
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

/// How the best graph of an e-graph is chosen: Greedy, GreedyShared, GreedyDag, Ilp, Lp, Best.
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

/// Which rules may be used, by what they change: nothing at all; the order of sums; also what may
/// lose digits; also casts that cut.
enum class Numerics : uint8_t { Exact, Reassociate, All, Lossy };
template <> struct Words<Numerics> {
  static constexpr std::string_view kRows[] = {"exact", "reassociate", "all", "lossy"};
};

/// How cycles of an e-graph are avoided: as it grows, with little work or as published; or not.
enum class CycleFilter : uint8_t { Efficient, Vanilla, None };
template <> struct Words<CycleFilter> {
  static constexpr std::string_view kRows[] = {"efficient", "vanilla", "none"};
};

/// How the integer program keeps cycles out: by cuts where it has to, or by an order of classes in
/// real or whole numbers.
enum class IlpCycles : uint8_t { None, Real, Int };
template <> struct Words<IlpCycles> {
  static constexpr std::string_view kRows[] = {"none", "real", "int"};
};

/// What of an operator's operands lies in a cache while it is timed: as in a network of this size;
/// all that fits; nothing.
enum class CacheState : uint8_t { AsNetwork, Hot, Cold };
template <> struct Words<CacheState> {
  static constexpr std::string_view kRows[] = {"", "hot", "cold"};
};

/// Refinement by prices of what the device launches at once. Auto: where costs are of this machine.
enum class Groups : uint8_t { Auto, On, Off };
template <> struct Words<Groups> {
  static constexpr std::string_view kRows[] = {"auto", "on", "off"};
};

/// Parts of the search Mcts that can be left out, to see what they are good for.
enum class SearchPart : uint8_t {
  Widening,
  Firing,
  Normalising,
  Transpositions,
  Priors,
  Segments,
  Repeats,
  Restarts,
  Saturation,
  Tree,
  Thorough,
  Focus,
};
template <> struct Words<SearchPart> {
  static constexpr std::string_view kRows[] = {
      "widening", "firing",   "normalising", "transpositions", "priors",   "segments",
      "repeats",  "restarts", "saturation",  "tree",           "thorough", "focus"};
};

/// Instances of each rule that is verified, and seconds of a calibration, unless others are given.
inline constexpr int kRuleInstances = 200;
inline constexpr double kCalibrateSeconds = 60;

/// Where prices come from, in microseconds for each operator.
struct CostSpec {
  enum class Source : uint8_t {
    Default,    // Calibrated where this build has a backend that can be measured, else Analytic
    Calibrated, // the price model of this machine, asked without waiting
    Measured,   // every operator is timed on the backend
    Analytic,   // estimates by a roofline
    Table,      // a file, as `tg opt --save-costs` writes it
  };
  Source source = Source::Default;
  std::optional<Backend> backend = {}; // of Calibrated and Measured; none: the processor
  /// Of Analytic the device, which need not be here ("cpu", "t4", "a100", "h200"), or "" for
  /// estimates about this machine, whose results are run beside the source; of Table the file.
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
  /// What the text means: calibrated[:BACKEND], measured[:BACKEND], analytic[:DEVICE], file:TABLE.
  /// Nothing where it means none of these.
  static std::optional<CostSpec> from_text(std::string_view text);
  /// The same text; "" of Default.
  std::string text() const;

  bool operator==(const CostSpec&) const = default;
};

} // namespace tangram
