// Tangram as a library: compiles a model written in .tg to a program, optimised if requested.
//
//   auto model = tangram::parse(text);                      // names, types and shapes are checked
//   auto fast  = tangram::optimize(*model, {.cost = CostSpec::measured(Backend::Cpu)});
//   auto program = tangram::compile(fast->model);
//   auto outputs = program->run({image});
//
// The headers in this folder depend only on the standard library. The library throws no exceptions
// and has no global state: failing functions return an Error, whose text is the message that `tg`
// prints. Models are immutable and may be shared between threads. A Program may be used by one
// thread at a time.
#pragma once

#include "tangram/fields.h"

#include <cassert>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tangram {

/// Returns the version of the library: "0.1.0".
const char* version();

// --- errors -----------------------------------------------------------------------------------

/// One error or warning. Line and column count from 1; 0 if there is no position.
struct Diagnostic {
  std::string code; // "E0213", see lang/DIAGNOSTICS.md
  std::string file;
  uint32_t line = 0, column = 0;
  std::string message;
  std::string text; // with excerpt, carets, notes and suggestion
};

/// The error of a failed function, with all its diagnostics.
struct Error {
  std::vector<Diagnostic> diagnostics; // never empty
  /// Returns all texts, concatenated.
  std::string text() const {
    std::string all;
    for (const Diagnostic& d : diagnostics) all += d.text;
    return all;
  }
};

/// A value or an Error. Must be tested before use: access to the missing one is undefined.
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return *get(); }
  const T& operator*() const { return *const_cast<Expected*>(this)->get(); }
  T* operator->() { return get(); }
  const T* operator->() const { return const_cast<Expected*>(this)->get(); }
  const Error& error() const {
    assert(state_.index() == 1 && "error() of a successful Expected");
    return *std::get_if<1>(&state_);
  }

private:
  T* get() {
    assert(state_.index() == 0 && "value of a failed Expected");
    return std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

// --- interrupts ---------------------------------------------------------------------------------

/// A request, by another thread or a signal handler, to end running operations: a search returns
/// the best result so far, a verification its findings so far. Copies share the same request, which
/// cannot be withdrawn.
class Interrupt {
public:
  struct Impl;
  Interrupt();
  /// Safe in a signal handler.
  void request() const;
  bool requested() const;
  const Impl& impl() const { return *impl_; }

private:
  std::shared_ptr<Impl> impl_;
};

// --- models -----------------------------------------------------------------------------------

/// Name and type of an input, output or weight.
struct TensorSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
};

/// A size of a model that has a range, as in `S: int in 1..2048 = 128`, and that
/// ParseOptions::set does not fix.
struct OpenSize {
  std::string name;
  int64_t least = 0;
  std::optional<int64_t> most; // absent: no end
  int64_t sample = 0;          // the default
};

/// Values of open sizes by name: {{"S", 77}}. Others have their defaults.
using Sizes = std::map<std::string, int64_t>;

/// A checked tensor graph. A model with open sizes is the graph at their defaults; at() returns the
/// graph at other sizes, and optimize() optimises it for all of them.
class Model {
public:
  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

  std::vector<OpenSize> open_sizes() const;
  /// Returns the model at these sizes, with the same weights. It has no open sizes. Errors: unknown
  /// names; sizes outside of their ranges (E0216); types that do not fit there.
  Expected<Model> at(const Sizes& sizes) const;

  std::string name() const;
  std::vector<TensorSpec> inputs() const, outputs() const;
  /// Weights that the outputs need, by path.
  std::vector<TensorSpec> weights() const;
  /// Number of operators that the outputs need, without leaves.
  size_t op_count() const;
  /// Returns the text of a .tg file that parse() reads as an equal model.
  std::string text() const;

private:
  std::shared_ptr<const Impl> impl_;
};

/// Options of parse() and parse_file().
struct ParseOptions {
  std::string model = {};                      // the model, if the file has several
  std::map<std::string, std::string> set = {}; // compile-time parameters: {"N", "8"}
  /// For an .onnx file: shapes of inputs, and sizes of symbolic dimensions.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  std::map<std::string, int64_t> dims = {};
  /// For an .onnx file that save_onnx() writes again, in an opset up to this: keeps LSTM, GRU, RNN
  /// and Attention, which other runtimes run faster than their expansions. They are left out of the
  /// model: their results become inputs, and their operands outputs. 0: none are kept.
  int keep_for_opset = 0;
};

/// Parses a .tg file and checks its names, types and shapes. `name` is the file in diagnostics;
/// `use ./blocks` is resolved relative to it. Errors: of the text (E0101 to E0404).
Expected<Model> parse(std::string_view text, std::string_view name = "<text>",
                      const ParseOptions& options = {});
/// Reads a .tg file, or an .onnx file with its weights. The weights stay in the file until they are
/// needed, and are the default weights of the model. Errors: those of parse(); unreadable files
/// (E0501); parts of ONNX files that are not supported (E0511).
Expected<Model> parse_file(const std::string& path, const ParseOptions& options = {});

/// A tensor in memory that the caller owns: row-major elements of the dtype, without gaps.
struct ConstTensorView {
  const void* data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
};
/// The same for a tensor that a function fills.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
};

/// A weight in memory that `owner` keeps.
struct GivenWeight {
  std::string path;
  ConstTensorView view;
  std::shared_ptr<const void> owner = {};
};

/// Returns the model with these weights, or those of a .safetensors or .onnx file, as its default
/// weights. They are only copied when a program is made. Errors: missing weights (E0506), or
/// weights of another type (E0507).
Expected<Model> with_weights(const Model& model, const std::vector<GivenWeight>& weights);
Expected<Model> with_weights(const Model& model, const std::string& path);

// --- operators of other libraries ---------------------------------------------------------------

/// An operator that models and rules declare and the program implements:
///
///   extern op swap_halves(x: T[N, S...]) -> T[N, S...] where N % 2 == 0
///
/// The declaration is its shape rule. Rules over it are verified with a random function of all
/// elements of all operands in its place, so proofs hold for every kernel that is a function of its
/// operands. Every backend runs the kernel on the host.
struct ExternOp {
  /// As in the models that call it, or another notation of the same type.
  std::string declaration;
  /// Fills the result. Must not throw or store the pointers. Several threads may call it at the
  /// same time.
  std::function<void(const std::vector<ConstTensorView>& operands, const TensorView& result)>
      kernel = {};
};

// --- optimiser --------------------------------------------------------------------------------

/// Progress of a search. Costs are microseconds; a bound of 0 is not known yet.
struct SearchProgress {
  double seconds = 0, time_limit_s = 0;
  double source_us = 0, best_us = 0, bound_us = 0;
  size_t nodes = 0, simulations = 0;                      // of the e-graph; by tree searches
  std::string where = {};                                 // current activity: "extraction"
  std::vector<std::pair<std::string, size_t>> rules = {}; // lowered the cost, most frequent first
};
/// Called from any thread, but never from two at once. Does not affect results.
using OnProgress = std::function<void(const SearchProgress&)>;

/// Prepares a graph in a runtime of the caller. The result runs the graph once and returns the
/// microseconds, or a negative number if the run failed. An empty result means that the runtime
/// rejects the graph. Called from one thread at a time.
using Judge = std::function<std::function<double()>(const Model& model)>;

struct OwnSearch; // opaque

/// Options of an optimisation. The fields are the rows TG_SEARCH_OPTION of tables/options.def, the
/// table of the command line: type, default, range, the strategies that use the option, and its
/// meaning; `tg opt --help-all` prints them. Times are seconds (`_s`), memory is MiB (`_mb`).
/// Numbers outside of a row's range are rejected, except the default, whose meaning the row
/// describes.
///
///   {.dtype = DType::F16, .search = Search::Saturate, .cost = CostSpec::measured(Backend::Cpu)}
struct OptimizeOptions {
#define TG_OPTION(...)
#define TG_ALSO(...)
#define TG_SEARCH_OPTION(field, flag, value_name, kind, value, limits, ...)                        \
  fields::Stored<fields::Kind::kind, decltype(fields::limits)> field =                             \
      fields::initial<decltype(field)>(value);
#include "tangram/tables/options.def"

  std::string rule_text = {}; // `rule` declarations, in addition to `rules`
  /// Fills Optimized::steps, each checked against the text of its rule. Without measured prices no
  /// graph is run then, and only prices decide.
  bool explain = false;
  bool record_trace = false; // fills Optimized::trace_json
  /// Fills Optimized::recipe. The search takes longer, as it records how its result was derived,
  /// and does not use results of earlier searches.
  bool recipe = false;
  /// Price several operators as one if the device runs them in one kernel, even without a rule for
  /// it. Off for searches that reproduce a publication.
  bool kernels = true;
  /// For Saturate: new e-nodes by multi-pattern rules; 0: only the node limit.
  int64_t multi_node_limit = 0;
  std::vector<ExternOp> externs = {}; // for running models that call them
  OnProgress progress = {};           // called periodically by the search
  /// Optimise for another runtime, as an ONNX file: without operators that only this runtime has,
  /// and with prices of the operators there.
  bool portable = false;
  /// Runs finalists, interleaved with the source, instead of this machine's backend. A graph that
  /// is not faster beyond the noise is not returned. The caller compares outputs.
  Judge judge = {};
  std::optional<Interrupt> interrupt = {};
  /// A search supplied by the caller (compiler/api/own_search.h), as in `tg-paper`.
  std::shared_ptr<const OwnSearch> own_search = {};
};

/// The outcome of comparing a result with its source (OptimizeOptions::verify).
/// Undecided: a limit prevented an answer; a note of the report names it.
enum class Verified : uint8_t { NotRequested, Equal, Undecided };

/// Pairs of a rule and its count, in the order of the report: by count, then by name.
using RuleCounts = std::vector<std::pair<std::string, size_t>>;

/// A lower bound on the cost of graphs in an e-graph that contains the result, or an equally cheap
/// graph.
struct Bound {
#define TG_BOUND(type, field, value, meaning) type field = value;
#include "tangram/tables/report.def"
};

/// A recipe of a model with open sizes.
struct SizeRecipe {
#define TG_SIZE_RECIPE(type, field, value, meaning) type field = value;
#include "tangram/tables/report.def"
};

/// Sizes at which the recipes of a model with open sizes were tried.
struct SizeTrial {
#define TG_SIZE_TRIAL(type, field, value, meaning) type field = value;
#include "tangram/tables/report.def"
};

/// The sections of a report. Their fields are the rows of tables/report.def: type, initial value
/// and meaning.
namespace report_sections {
#define TG_FIELD(origin, written, type, field, value, meaning) type field = value;
struct Result {
#define TG_RESULT TG_FIELD
#include "tangram/tables/report.def"
};
struct Search {
#define TG_SEARCH TG_FIELD
#include "tangram/tables/report.def"
};
struct Extraction {
#define TG_EXTRACTION TG_FIELD
#include "tangram/tables/report.def"
};
struct Runs {
#define TG_RUNS TG_FIELD
#include "tangram/tables/report.def"
};
struct Verification {
#define TG_VERIFICATION TG_FIELD
#include "tangram/tables/report.def"
};
struct Sizes {
#define TG_SIZES TG_FIELD
#include "tangram/tables/report.def"
};
#undef TG_FIELD
} // namespace report_sections

/// The report of an optimisation, section by section. JSON (`tg opt --json`) and Python have the
/// same fields with the same names. Costs (`_us`) are microseconds under the cost model in use; the
/// times of whole runs, `median_before_us` and `median_after_us`, are measured microseconds. Other
/// times (`_s`) are seconds.
///
///   fast->report.cost_after_us, fast->report.egraph_nodes, fast->report.speedup
struct Report : report_sections::Result,
                report_sections::Search,
                report_sections::Extraction,
                report_sections::Runs,
                report_sections::Verification,
                report_sections::Sizes {};

/// One application of a rule between the source and the result.
struct Step {
  std::string rule, set; // "relu_relu", of the rule set "algebra"
  bool built_in = false;
  std::string file; // where the rule is declared
  uint32_t line = 0;
  bool backwards = false;
  /// The changed part of the graph as two small models, and the rule's variables that are bound to
  /// leaves of the whole model: "x = image, w = layer1.weight".
  std::string before, after, where;
};

/// The rewrites of an optimisation, for the same model at other sizes (repeat()). Any number of
/// threads may use one.
class Recipe {
public:
  struct Impl;
  explicit Recipe(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

private:
  std::shared_ptr<const Impl> impl_;
};

/// A model that was optimised by a recipe, without a search. Costs are microseconds, by the prices
/// of the recipe's search; if these are measured, by those of the analytic model.
struct Repeated {
  Model model;
  size_t steps = 0;   // rewrites that were applied
  size_t skipped = 0; // rewrites of the recipe that do not apply at these sizes
  double cost_before_us = 0, cost_after_us = 0;
  bool source_returned = false; // the rewritten model would cost more
};

/// An optimised model with the report of its search.
struct Optimized {
  Model model;
  Report report;
  std::vector<Step> steps = {}; // with OptimizeOptions::explain
  /// The report as one JSON object, as printed by `tg opt --json`.
  std::string report_json = {};
  /// With OptimizeOptions::record_trace: the trace of the search as JSON, as written by `tg opt
  /// --trace` and drawn by `tg report`.
  std::string trace_json = {};
  std::optional<Recipe> recipe = {}; // with OptimizeOptions::recipe

  /// For a model with open sizes: the recipes for their ranges, each as described by the entry of
  /// report.recipes at the same position. Empty for other models, and if a limit left no time to
  /// derive the rewrites (a note of the report).
  std::vector<Recipe> recipes = {};
  /// Returns the optimised model at these sizes, by the recipe that serves them, within
  /// milliseconds: see repeat(). Errors: those of Model::at; a result without recipes (E0601).
  ///
  ///   auto fast = optimize(*parse("model m(x: f32[S, 8], S: int in 1..512 = 64) { x + 0.0 }"));
  ///   Model fast_77 = fast->at({{"S", 77}})->model;
  Expected<Repeated> at(const Sizes& sizes) const;

  struct ForSizes;
  std::shared_ptr<const ForSizes> for_sizes = {}; // of `recipes`
};

/// Optimises a model. The result is never worse than the input under the cost model. With costs of
/// this machine (calibrated, measured, analytic without a profile) both are run. The input is
/// returned if it is faster (with `measured` also if the gain is within the noise), or if a limit
/// left no time for the runs. Rules that are not built in are verified first; an incorrect rule is
/// an error with a counterexample (E0306). With `verify` the result is compared with its source
/// exactly; a difference is an error that names the rule (E0802).
///
/// A model with open sizes is checked for all sizes in their ranges, as by `tg check`, and
/// optimised at their defaults. The rewrites are repeated at other sizes, and one to four recipes
/// are selected for the ranges (Optimized::recipes). All other fields describe the default sizes.
Expected<Optimized> optimize(const Model& model, const OptimizeOptions& options = {});

/// Applies the rewrites of a recipe to its model at other sizes, within milliseconds. Each
/// rewrite is matched anew: its conditions are checked, and the values that it computes are
/// computed. The chain is then checked against the text of the rules, as for `explain`. Errors:
/// E0801 if the model has inputs or outputs of other names; those of the prices.
///
///   Model long_model = *parse_file("bert.tg", {.set = {{"S", "512"}}});
///   Model fast = repeat(*fast_128->recipe, long_model)->model;
Expected<Repeated> repeat(const Recipe& recipe, const Model& model);

/// Returns an HTML page that displays a search, from Optimized::trace_json, as written by `tg
/// report`. It only needs a browser. Errors: invalid traces.
Expected<std::string> report_page(std::string_view trace_json);

/// Returns the graph as an <svg> element. Boxes of operators that `other`, if given, lacks have the
/// class `changed`. svg_style() is CSS for it. Returns "" if the graph is too large to draw.
std::string graph_svg(const Model& model, const Model* other = nullptr);
std::string svg_style();

// --- equality ---------------------------------------------------------------------------------

/// Options of verify().
struct VerifyOptions {
  /// .safetensors files; folded weights are traced to the weights from which they were computed.
  std::string weights_file_a = {}, weights_file_b = {};
  uint64_t seed = 1;
  double time_limit_s = -1;    // negative: none
  int64_t memory_limit_mb = 0; // 0 = 80% of the machine's
  int threads = 0;             // 0 = one for each core
  std::optional<Interrupt> interrupt = {};
};

/// The result of comparing two models. Equal and Different are proved or shown by an example; for
/// Undecided, `why` has the reason.
struct Verification {
  enum class Verdict : uint8_t { Equal, Different, Undecided };
  /// Identical: the same graph. Field: equal at random points modulo primes. Float64: equal in
  /// float64, without an error bound.
  enum class Method : uint8_t { Identical, Field, Float64 };
  Verdict verdict = Verdict::Undecided;
  Method method = Method::Identical;
  size_t points = 0;      // for Field
  double error_bound = 0; // for Field: the probability that Equal is wrong
  std::string why;
  std::vector<std::string> caveats; // assumptions of an equality
  /// For Different: an element of an output (or of a weight, if files of weights differ), and its
  /// values; the inputs and weights that show it, if these are few (all others are 0).
  struct Element {
    std::string name;
    std::vector<int64_t> index;
    /// Exact: an int64_t for an element of an integer dtype or of bool.
    std::variant<double, int64_t> value;
  };
  Element a, b;
  std::vector<Element> inputs;
};

/// Compares two models as functions of inputs and weights with the same names. Models with open
/// sizes are compared at their defaults: Model::at gives others. Errors: different
/// inputs or outputs, or kept operators (E0801); files of weights. Source: polynomial identity
/// testing (Schwartz 1980, Zippel 1979); compiler/verify/DECISIONS.md derives the error bound.
Expected<Verification> verify(const Model& a, const Model& b, const VerifyOptions& options = {});

// --- rules ------------------------------------------------------------------------------------

/// A declared rule. A declaration with directions or operator variables defines several rules.
struct RuleInfo {
  std::string rule, set, file; // "relu_relu", of the rule set "algebra"
  uint32_t line = 0;
  bool with_program = false; // from the library that comes with the program
  Numerics numerics = Numerics::Exact;
  std::string text;        // on one line
  std::string fingerprint; // of its meaning, independent of its name
};

/// Lists the rules of a selection (OptimizeOptions::rules), or the whole library if it is empty.
/// Errors: files; unknown names.
Expected<std::vector<RuleInfo>> list_rules(const std::vector<std::string>& selection = {});

/// Options of verify_rules().
struct VerifyRulesOptions {
  /// Like OptimizeOptions::rules: modules, rule sets or rules of the library, and .tg files. If
  /// there are none, and no rule_text, the whole library.
  std::vector<std::string> rules = {};
  std::string rule_text = {};         // `rule` declarations, in addition to `rules`
  int64_t instances = kRuleInstances; // drawn for each rule; at least 1
  bool proof = false;                 // also try to prove each for all sizes; needs Z3
  uint64_t seed = 1;                  // for the instances
  double time_limit_s = -1;           // negative: none; remaining rules are Stopped
  int64_t memory_limit_mb = 0;        // 0 = 80% of the machine's
  int threads = 0;                    // 0 = one for each core
  std::string rule_cache = {};        // a file that stores verified rules; "": none
  /// Called after each rule, from one thread at a time.
  std::function<void(size_t done, size_t total)> progress = {};
  std::optional<Interrupt> interrupt = {};
};

/// A built-in rule is covered by its own tests instead of instances: Tested, with 0 cases.
enum class RuleStatus : uint8_t {
  Proved,   // for all sizes, and at all instances
  Tested,   // both sides are equal at all instances
  Untested, // also equal, but instances of some kinds were not found
  Refuted,  // they differ
  Empty,    // no instance was found: the rule never applies
  Fault,    // the check failed
  Stopped,  // a limit prevented an answer
  Unread,   // its declaration has errors: nothing was compared
};
template <> struct Words<RuleStatus> {
  static constexpr std::string_view kRows[] = {"proved", "tested", "untested", "refuted",
                                               "empty",  "fault",  "stopped",  "unread"};
};

/// The result for one rule. A declaration with directions or operator variables defines several
/// rules.
struct RuleVerdict {
  std::string rule, set; // "relu_relu", of the rule set "algebra"
  std::string file;      // where it is declared
  uint32_t line = 0;
  RuleStatus status = RuleStatus::Tested;
  size_t cases = 0; // instances compared
  /// Number of cases that are equal at random points modulo primes, and the probability that one of
  /// these is wrong; the other cases were compared in float64.
  size_t in_field = 0;
  double error_bound = 0;
  /// The effect of the rule on floats: its declared class, and the class observed at the instances.
  Numerics numerics = Numerics::Exact, observed = Numerics::Exact;
  std::string why;            // an explanation, except for Proved and Tested
  std::string unproved;       // for Tested, if a proof was tried: the reason why it failed
  std::string counterexample; // for Refuted: .tg text with the models `left` and `right`
};

/// Verifies rules. Returns one verdict for each, in the order of the selection, followed by rules
/// that cannot be read. Errors: files; texts without a readable rule; unknown names.
Expected<std::vector<RuleVerdict>> verify_rules(const VerifyRulesOptions& options = {});

// --- extraction ---------------------------------------------------------------------------------

/// Options of extract().
struct ExtractOptions {
  Extractor extract = Extractor::Best;
  IlpCycles ilp_cycles = IlpCycles::None;
  bool check = false; // check the answer with a checker that shares no code with the extractors
  uint64_t seed = 1;
  double time_limit_s = -1;    // negative: 60
  int64_t memory_limit_mb = 0; // 0 = 80% of the machine's
  std::optional<Interrupt> interrupt = {};
};

/// The best graph that was found in an e-graph. Costs are in the unit of the file.
struct Extraction {
  size_t nodes = 0, classes = 0, roots = 0; // in the e-graph
  /// For each class that the roots reach, the chosen node, by the ids of the file.
  std::vector<std::pair<std::string, std::string>> choices;
  std::string algorithm;          // which found it: "ilp", "greedy-dag", ...
  double dag_cost = 0;            // counts each chosen node once
  double tree_cost = 0;           // counts each use
  double reported_cost = 0;       // by the algorithm itself
  double lower_bound = 0;         // no choice costs less
  bool optimal = false;           // the cost of the choice equals that bound
  double read_s = 0, seconds = 0; // for reading; for the choice
  std::string note;               // deviations from the request
};

/// Extracts from an e-graph in the egraph-serialize JSON form; `name` is used in diagnostics.
/// Errors: invalid files (E0606); a root that cannot be extracted (E0601).
Expected<Extraction> extract(std::string_view text, std::string_view name = "<e-graph>",
                             const ExtractOptions& options = {});
Expected<Extraction> extract_file(const std::string& path, const ExtractOptions& options = {});

// --- prices of this machine ---------------------------------------------------------------------

/// Options of calibrate().
struct CalibrateOptions {
  Backend backend = kDefaultBackend;       // not Ref
  double time_limit_s = kCalibrateSeconds; // negative: none; a later call continues
  int64_t memory_limit_mb = 0;             // 0 = 80% of the machine's
  int threads = 0;                         // 0 = one for each core
  std::string cost_db = {};                // stores the times; "" = the user's cache folder
  /// Called while operators are timed.
  std::function<void(size_t done, size_t total)> progress = {};
};

/// The operators timed, and the improvement of the price model (CostSpec::calibrated).
struct Calibration {
  size_t timed = 0;     // operators, in this run
  size_t unsettled = 0; // timed while other programs ran, and discarded
  size_t samples = 0;   // from which the price model has learned
  double seconds = 0;
  /// Median of |guess / time - 1| for operators that the model had not seen. Empty: too few.
  std::optional<double> median_error;
  bool finished = false; // everything is timed
  std::vector<std::string> notes;
};

/// Times operators of all kinds on this machine, so that searches can estimate prices. Errors: a
/// backend that is not available (E0702); a failed device (E0703).
Expected<Calibration> calibrate(const CalibrateOptions& options = {});

// --- running ----------------------------------------------------------------------------------

/// f32, row-major; the shape determines the number of elements. Inputs, weights and outputs of
/// other dtypes are converted to and from f32, like the operator `cast`: i64 values beyond 2^24 and
/// f64 values are rounded.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> data;
};

/// Options of compile().
struct CompileOptions {
  Backend backend = kDefaultBackend;
  /// F32, F16 or BF16: the type in which the model's f32 values are computed, with sums in f32.
  /// Inputs and outputs keep their types.
  DType dtype = DType::F32;
  bool allow_tf32 = false; // for cuda: compute f32 products in tf32
  /// Share of the time that a run may add, by estimates, to save memory: results that wait long for
  /// a reader are recomputed there.
  double recompute = 0;
  int threads = 0;             // 0 = one for each core
  int64_t memory_limit_mb = 0; // 0 = 80% of the machine's
  std::string cost_db = {};    // tuning results and measurements; "" = the user's cache folder
  /// Milliseconds in which operators that were never tuned may try the choices of similar tuned
  /// ones. The result is stored for later programs. 0: none are tried, and loading is fastest.
  double tune_near_ms = 0;
  uint64_t seed = 1; // for random weights
  /// Returns a weight by its path. Without it weights come from the model's .onnx file, or else are
  /// random from (seed, path).
  std::function<Tensor(const std::string& path, const std::vector<int64_t>& shape)> weights = {};
  /// A .safetensors file with all weights, as for `tg run --weights`; narrower floats are widened
  /// to the model's type. Only one of `weights` and this may be set.
  std::string weights_file = {};
  std::vector<ExternOp> externs = {}; // kernels for the `extern op`s that the model calls
};

/// Options of Program::time().
struct TimeOptions {
  size_t runs = 0;      // 0: by `seconds`, from 5 to 300 runs; for Ref 1 run
  double seconds = 0.5; // if `runs` is 0
  size_t warmup = 2;    // runs before the counted ones
  /// Number of instances that run side by side, as on a server, each with its own weights and
  /// memory. More than one requires cuda. Times are those of rounds in which each instance runs
  /// once.
  int streams = 1;
  bool steps = false; // fills Timing::steps, from separate runs
};

/// One operator, or several that the backend runs in one kernel.
struct StepTiming {
  std::string name, result; // "conv2d", "f32[1, 64, 56, 56]"
  std::string implementation;
  double median_us = 0;
  double flops = 0, bytes = 0; // bytes: read and written at least once
};

/// Times of runs in microseconds: the median, the 10th and 90th percentiles, and the minimum.
struct Timing {
  size_t runs = 0;
  double median_us = 0, p10_us = 0, p90_us = 0, min_us = 0;
  double runs_per_s = 0; // over all instances
  std::vector<StepTiming> steps = {};
  double device_us = 0; // with steps: a run on the device alone; 0: unknown
};

/// The device of a program, and its memory.
struct ProgramInfo {
  std::string backend, device; // "cpu"; processor or GPU, with libraries and their versions
  int threads = 1;
  double build_s = 0; // time of compile(), without reading or drawing weights
  double memory_mb = 0;
  std::vector<std::string> notes; // notes of the backend for the user
};

/// A model prepared on a backend: memory is allocated, and weights are loaded.
class Program {
public:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  /// Inputs are in the order of Model::inputs(), outputs in that of Model::outputs(). Weights that
  /// the model updates start as its weights. Every run, also those of time(), continues with their
  /// values from the last run: the outputs after its results, under their paths. Errors: number or
  /// types of inputs (E0505); a failed device (E0703).
  Expected<std::vector<Tensor>> run(const std::vector<Tensor>& inputs);
  /// The same on memory of the caller with the types of the model: nothing is converted, and no
  /// elements are allocated. Errors: types or numbers of inputs or outputs; the device's.
  std::optional<Error> run(const std::vector<ConstTensorView>& inputs,
                           const std::vector<TensorView>& outputs);
  /// Times repeated runs on these inputs. With several streams, the options' `weights` is called
  /// again.
  Expected<Timing> time(const std::vector<Tensor>& inputs, const TimeOptions& options = {});
  ProgramInfo info() const;

private:
  std::unique_ptr<Impl> impl_;
};

/// Prepares a model to run: makes the plan, reads or draws the weights, and chooses kernels.
/// Errors: a backend that is not available (E0702); the memory limit (E0701); missing weights
/// (E0506) or weights of another type (E0507); an operator without a kernel (E0705).
Expected<Program> compile(const Model& model, const CompileOptions& options = {});

/// The difference of an output from the reference.
struct OutputDifference {
  std::string name;
  /// max |a - b| over max |b|; infinite if a value is NaN or infinite.
  double difference = 0;
  bool within_bound = false; // 1e-4; for F16 2e-2, for BF16 1e-1, for tf32 1e-2
};

/// Runs `model` with the options and `source` on the backend ref in f32, with the same weights and
/// inputs, as `tg run --opt --check` does. Returns the difference of each output, in order. Errors:
/// different inputs or outputs (E0801); inputs; those of compile().
Expected<std::vector<OutputDifference>> check_outputs(const Model& model, const Model& source,
                                                      const std::vector<Tensor>& inputs,
                                                      const CompileOptions& options = {});

/// Writes the weights of an optimised model as .safetensors, with nothing left to compute at load.
/// Weights of its source are unchanged, with the options. Values that the optimiser computes from
/// weights alone are computed now, with a record of their computation by which verify() traces
/// them. Returns the model for that file: every such operator that a run needs is the weight
/// `P.folded` in it, where P is the first weight below. The same as `tg opt -o --weights-out`.
Expected<Model> save_weights(const Model& model, const std::string& path,
                             const CompileOptions& options = {});

/// The assumptions of an ONNX file, as sentences ("`ids` has to name rows from 0 to 4: ...").
using OnnxNotes = std::vector<std::string>;

/// Writes a model with its weights, from the options, as an ONNX file with standard ONNX operators
/// only, like `tg export`. A file of more than 2 GB has its weights in a second one, `path`.data. A
/// search for such a file should omit operators that only this runtime runs in one kernel:
/// OptimizeOptions::rules
/// {"default", "-winograd", "-fuse_pointwise"}.
/// `opset` 0: 18, or the opset that kept operators need (ParseOptions::keep_for_opset).
/// Errors: models that ONNX operators cannot express (E0511); files; missing weights.
Expected<OnnxNotes> save_onnx(const Model& model, const std::string& path, int opset = 0,
                              const CompileOptions& options = {});

} // namespace tangram
