// Converts the enumerations of the public API (tangram/choices.h), and its options of a run, to the
// internal ones. Strategies and extractors have one table for both. The other enumerations have the
// same order, which the compiler checks.
#pragma once

#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/weight_file.h"
#include "compiler/egraph/cycle.h"
#include "compiler/extract/extractors.h"
#include "compiler/optimizer/optimize.h"
#include "runtime/measure/measure.h"
#include "tangram/tangram.h"

struct tangram::Interrupt::Impl {
  tg::Cancellation wish;
};

namespace tg {

namespace public_types {

template <class Part, class Public> constexpr bool same(Part part, Public given) {
  return static_cast<int>(part) == static_cast<int>(given);
}
static_assert(same(Numerics::Exact, tangram::Numerics::Exact) &&
              same(Numerics::Reassociates, tangram::Numerics::Reassociate) &&
              same(Numerics::Risky, tangram::Numerics::All) &&
              same(Numerics::Lossy, tangram::Numerics::Lossy));
static_assert(same(CycleFilter::Efficient, tangram::CycleFilter::Efficient) &&
              same(CycleFilter::Vanilla, tangram::CycleFilter::Vanilla) &&
              same(CycleFilter::None, tangram::CycleFilter::None));
static_assert(same(IlpCycles::None, tangram::IlpCycles::None) &&
              same(IlpCycles::Real, tangram::IlpCycles::Real) &&
              same(IlpCycles::Int, tangram::IlpCycles::Int));
static_assert(same(CacheState::AsNetwork, tangram::CacheState::AsNetwork) &&
              same(CacheState::Hot, tangram::CacheState::Hot) &&
              same(CacheState::Cold, tangram::CacheState::Cold));

} // namespace public_types

/// Formats a number of an option: "15", "1.05", "1e-09".
std::string number_text(double number);

constexpr Search to_internal(tangram::Search s) { return static_cast<Search>(s); }
constexpr Extractor to_internal(tangram::Extractor e) { return static_cast<Extractor>(e); }
constexpr Numerics to_internal(tangram::Numerics n) { return static_cast<Numerics>(n); }
constexpr CycleFilter to_internal(tangram::CycleFilter f) { return static_cast<CycleFilter>(f); }
constexpr IlpCycles to_internal(tangram::IlpCycles c) { return static_cast<IlpCycles>(c); }
constexpr CacheState to_internal(tangram::CacheState s) { return static_cast<CacheState>(s); }
constexpr tangram::Numerics to_public(Numerics n) { return static_cast<tangram::Numerics>(n); }
inline DType to_internal(tangram::DType t) { return *parse_dtype(tangram::word(t)); }
inline tangram::DType to_public(DType t) {
  return *tangram::from_word<tangram::DType>(std::string_view(dtype_name(t)));
}

/// Returns the stop of a call that begins now. It ends when the time is over (negative: no limit),
/// when the process exceeds its current memory by the limit, or on the interrupt.
StopToken stop_within(double time_limit_s, int64_t memory_limit_mb,
                      const std::optional<tangram::Interrupt>& interrupt);

/// Converts options of a run, except kernels and weights supplied as functions.
PrepareOptions run_options(const tangram::CompileOptions& options);
/// The same with the weights of the options' file, which must have the weights that the model
/// needs, or else with the model's own, if any. Errors: those of open_weight_file().
Result<PrepareOptions> run_options(const tangram::CompileOptions& options, const Graph& model,
                                   const std::shared_ptr<const WeightFile>& own);

inline std::string name_of(tangram::Backend b) { return std::string(tangram::word(b)); }

} // namespace tg
