// Tangram as a library: a model written in .tg becomes a program that runs, made faster on the way.
//
//   auto model = tangram::parse(text);                      // names, types and shapes are checked
//   auto fast  = tangram::optimize(*model, {.cost = CostSpec::measured(Backend::Cpu)});
//   auto program = tangram::compile(fast->model);
//   auto outputs = program->run({image});
//
// This header and those beside it stand alone: they need the standard library and nothing else.
// Nothing is thrown across it and nothing is global: what fails returns an Error, whose text is
// what `tg` would print. Models are immutable and may be shared between threads; a Program belongs
// to one thread at a time.
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

/// "0.1.0"
const char* version();

// --- errors -----------------------------------------------------------------------------------

/// One mistake. Line and column count from 1; 0 where there is no place.
struct Diagnostic {
  std::string code; // "E0213", see lang/DIAGNOSTICS.md
  std::string file;
  uint32_t line = 0, column = 0;
  std::string message;
  std::string text; // with excerpt, carets, notes and suggestion
};

struct Error {
  std::vector<Diagnostic> diagnostics; // never empty
  /// All texts, one behind the other.
  std::string text() const {
    std::string all;
    for (const Diagnostic& d : diagnostics) all += d.text;
    return all;
  }
};

/// A value or an Error; to be asked before it is used.
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
    assert(state_.index() == 1 && "error() of a success");
    return *std::get_if<1>(&state_);
  }

private:
  T* get() {
    assert(state_.index() == 0 && "value of a failure");
    return std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

// --- ending what runs ---------------------------------------------------------------------------

/// The wish that what runs by it ends, made by another thread or a signal handler: a search then
/// ends with the best so far, a verification with what is known. Copies are the same wish; it is
/// never taken back.
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

/// A checked tensor graph.
class Model {
public:
  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

  std::string name() const;
  std::vector<TensorSpec> inputs() const, outputs() const;
  /// Those that the outputs need, by their paths.
  std::vector<TensorSpec> weights() const;
  /// Operators that the outputs need; leaves are not counted.
  size_t op_count() const;
  /// A .tg file that parse() reads again and that runs the same.
  std::string text() const;

private:
  std::shared_ptr<const Impl> impl_;
};

struct ParseOptions {
  std::string model = {};                      // which one, of a file with several
  std::map<std::string, std::string> set = {}; // compile-time parameters: {"N", "8"}
  /// Of an .onnx file: shapes of inputs, and sizes of symbolic dimensions.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  std::map<std::string, int64_t> dims = {};
  /// Of an .onnx file that save_onnx() writes again, in an opset up to this: LSTM, GRU, RNN and
  /// Attention, which runtimes run faster than what they are written out as, are kept for that file
  /// and left out of the model; what they give are inputs of it, what they read outputs. 0: none.
  int keep_for_opset = 0;
};

/// `name` stands in diagnostics; `use ./blocks` is looked up beside it.
Expected<Model> parse(std::string_view text, std::string_view name = "<text>",
                      const ParseOptions& options = {});
/// A .tg file, or an .onnx file with its weights, which stay in the file until they are needed:
/// what is done with the model takes these unless it is given others.
Expected<Model> parse_file(const std::string& path, const ParseOptions& options = {});

/// A tensor in memory of somebody else: row-major elements of the dtype.
struct ConstTensorView {
  const void* data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
};
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

/// The model with these weights, or those of a .safetensors or .onnx file, in the place of its own:
/// what is done with it takes them unless it is given others. They are not copied before a program
/// is made of them. Errors: weights that the model needs and that are missing, or of another type.
Expected<Model> with_weights(const Model& model, const std::vector<GivenWeight>& weights);
Expected<Model> with_weights(const Model& model, const std::string& path);

// --- operators of other libraries ---------------------------------------------------------------

/// An operator that models and rules declare and the program computes:
///
///   extern op swap_halves(x: T[N, S...]) -> T[N, S...] where N % 2 == 0
///
/// The declaration is its shape rule. Rules over it are verified with a random function of all
/// elements of all operands in its place, so what is proved holds for every kernel that is a
/// function of its operands. Every backend runs the kernel on the host.
struct ExternOp {
  /// As in the models that call it, or in another spelling of the same type.
  std::string declaration;
  /// Fills the result. Must not throw or keep the pointers; executables may call it at one time
  /// from several threads.
  std::function<void(const std::vector<ConstTensorView>& operands, const TensorView& result)>
      kernel = {};
};

// --- optimiser --------------------------------------------------------------------------------

/// What a search says while it goes on. Costs are microseconds; a bound of 0 is not known yet.
struct SearchProgress {
  double seconds = 0, time_limit_s = 0;
  double source_us = 0, best_us = 0, bound_us = 0;
  size_t nodes = 0, simulations = 0;                      // of the e-graph; tried by tree searches
  std::string where = {};                                 // what it does: "extraction"
  std::vector<std::pair<std::string, size_t>> rules = {}; // that paid, most often first
};
/// Called from any thread, never from two at once. Changes no result.
using OnProgress = std::function<void(const SearchProgress&)>;

/// Makes a graph ready in a runtime of the caller's. What it returns runs the graph once and says
/// how many microseconds that took; less than 0: it failed. Empty: the runtime refuses the graph.
/// Called from one thread at a time.
using Judge = std::function<std::function<double()>(const Model& model)>;

struct OwnSearch; // opaque

/// Options of an optimisation. The fields are the rows TG_SEARCH_OPTION of tables/options.def,
/// the table that the command line is made of: type, default, range, the strategies that look at
/// it, and what it means; `tg opt --help-all` prints them. Times are seconds (`_s`), memory is MiB
/// (`_mb`). A number outside of its row's range is refused, but for the default, which then stands
/// for what the row says.
///
///   {.dtype = DType::F16, .search = Search::Saturate, .cost = CostSpec::measured(Backend::Cpu)}
struct OptimizeOptions {
#define TG_OPTION(...)
#define TG_ALSO(...)
#define TG_SEARCH_OPTION(field, flag, value_name, kind, value, limits, ...)                        \
  fields::Stored<fields::Kind::kind, decltype(fields::limits)> field =                             \
      fields::initial<decltype(field)>(value);
#include "tangram/tables/options.def"

  std::string rule_text = {}; // `rule` declarations, beside `rules`
  /// With Optimized::steps, each confirmed by its rule's own text. Prices that are not measured
  /// decide alone then: nothing is run.
  bool explain = false;
  bool record_trace = false; // with Optimized::trace_json
  /// What a device does in one kernel is priced as one, though no rule has named it. Off where a
  /// published search is to be as published.
  bool kernels = true;
  /// Of Saturate: new e-nodes by rules with several patterns; 0: the node limit alone.
  int64_t multi_node_limit = 0;
  std::vector<ExternOp> externs = {}; // where models that call them are to be run
  OnProgress progress = {};           // called while it searches
  /// The result is for another runtime, as an ONNX file: no operators that only this one has, and
  /// prices of what each is there.
  bool portable = false;
  /// Runs finalists, interleaved with the source, in the place of this machine's backend. What it
  /// finds no faster beyond the noise is not returned. Outputs are the caller's to compare.
  Judge judge = {};
  std::optional<Interrupt> interrupt = {};
  /// A search that the caller brings along (compiler/api/own_search.h), as `tg-paper` does.
  std::shared_ptr<const OwnSearch> own_search = {};
};

/// Whether a result is known to compute what its source does (OptimizeOptions::verify). Undecided:
/// a limit left no answer, and a note of the report says which.
enum class Verified : uint8_t { NotAsked, Equal, Undecided };

/// Rule -> count, in the order of the report: most often first, then by name.
using RuleCounts = std::vector<std::pair<std::string, size_t>>;

/// A bound on the cost of the graphs of an e-graph that holds the result, or a graph as cheap.
struct Bound {
#define TG_BOUND(type, field, value, meaning) type field = value;
#include "tangram/tables/report.def"
};

/// The sections of a report. Their fields are the rows of tables/report.def: type, initial value,
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
#undef TG_FIELD
} // namespace report_sections

/// What the optimiser did, section by section. JSON (`tg opt --json`) and Python have the same
/// fields with the same names. Costs (`_us`) are microseconds under the cost model in use; the
/// times of whole runs, `median_before_us` and `median_after_us`, are microseconds, others (`_s`)
/// seconds.
///
///   fast->report.cost_after_us, fast->report.egraph_nodes, fast->report.speedup
struct Report : report_sections::Result,
                report_sections::Search,
                report_sections::Extraction,
                report_sections::Runs,
                report_sections::Verification {};

/// One application of a rule on the way from the source to the result.
struct Step {
  std::string rule, set; // "relu_relu", of the rule set "algebra"
  bool built_in = false;
  std::string file; // where the rule is declared
  uint32_t line = 0;
  bool backwards = false;
  /// The part of the graph that it changed, as two small models; which of the rule's variables
  /// stand for leaves of the whole: "x = image, w = layer1.weight".
  std::string before, after, where;
};

struct Optimized {
  Model model;
  Report report;
  std::vector<Step> steps = {}; // where OptimizeOptions::explain asks for them
  /// All that is known of the optimisation, as one JSON object: what `tg opt --json` prints.
  std::string report_json = {};
  /// What the search did, as JSON: what `tg opt --trace` writes and `tg report` draws. Where
  /// OptimizeOptions::record_trace asks for it.
  std::string trace_json = {};
};

/// Never worse than its input under the cost model; with costs of this machine (calibrated,
/// measured, analytic without a profile) both are run, and the input is returned where it is the
/// faster one (with `measured` also where the gain is within the noise), or where a limit left no
/// time for that. Rules that are not built in are verified first; one that does not hold is an
/// error, with a counterexample (E0306). With `verify` the result is checked against its source,
/// exactly; a difference is an error that names the rule (E0802).
Expected<Optimized> optimize(const Model& model, const OptimizeOptions& options = {});

/// A page of HTML that shows a search, from Optimized::trace_json: what `tg report` writes. It
/// needs nothing but a browser. Errors: what is no trace.
Expected<std::string> report_page(std::string_view trace_json);

/// The graph as an element <svg>, whose boxes are of the class `changed` where `other`, if it is
/// given, has no such operator; svg_style() is CSS for it. "" of a graph too large to draw.
std::string graph_svg(const Model& model, const Model* other = nullptr);
std::string svg_style();

// --- equality ---------------------------------------------------------------------------------

struct VerifyOptions {
  /// .safetensors files; weights that were folded are traced to what they were computed from.
  std::string weights_file_a = {}, weights_file_b = {};
  uint64_t seed = 1;
  double time_limit_s = -1;    // negative: none
  int64_t memory_limit_mb = 0; // 0 = 80% of the machine's
  int threads = 0;             // 0 = one for each core
  std::optional<Interrupt> interrupt = {};
};

/// What is known of two models. Equal and Different are shown; of Undecided `why` says what stood
/// in the way.
struct Verification {
  enum class Verdict : uint8_t { Equal, Different, Undecided };
  /// The same graph; equal at random points modulo primes; or in float64 alone, without a bound.
  enum class Method : uint8_t { Identical, Field, Float64 };
  Verdict verdict = Verdict::Undecided;
  Method method = Method::Identical;
  size_t points = 0;      // of Field
  double error_bound = 0; // of Field: the chance that Equal is wrong
  std::string why;
  std::vector<std::string> caveats; // what an equality leaves out
  /// Of Different: an element of an output (or of a weight, where files of weights differ), and its
  /// values; the inputs and weights that show it, where these are few (all others are 0).
  struct Element {
    std::string name;
    std::vector<int64_t> index;
    /// Exact: an int64_t for an element of an integer dtype or of bool.
    std::variant<double, int64_t> value;
  };
  Element a, b;
  std::vector<Element> inputs;
};

/// Whether two models compute the same function of inputs and weights of the same names. Errors:
/// inputs or outputs that differ, or operators that are kept (E0801); files of weights.
Expected<Verification> verify(const Model& a, const Model& b, const VerifyOptions& options = {});

// --- rules ------------------------------------------------------------------------------------

/// A rule as it is declared. A declaration with directions or operator variables gives several.
struct RuleInfo {
  std::string rule, set, file; // "relu_relu", of the rule set "algebra"
  uint32_t line = 0;
  bool with_program = false; // of the library that comes with the program
  Numerics numerics = Numerics::Exact;
  std::string text;        // on one line
  std::string fingerprint; // of what it says, whatever its name
};

/// The rules of a selection (OptimizeOptions::rules), the whole library where it is empty. Errors:
/// files; names that there are not.
Expected<std::vector<RuleInfo>> list_rules(const std::vector<std::string>& selection = {});

struct VerifyRulesOptions {
  /// As OptimizeOptions::rules: modules, rule sets or rules of the library, and .tg files. The
  /// whole library where there are none, and no rule_text.
  std::vector<std::string> rules = {};
  std::string rule_text = {};         // `rule` declarations, beside `rules`
  int64_t instances = kRuleInstances; // drawn of each rule; at least 1
  bool proof = false;                 // also try to prove each for all sizes; needs Z3
  uint64_t seed = 1;                  // of the instances
  double time_limit_s = -1;           // negative: none; rules that are left are Stopped
  int64_t memory_limit_mb = 0;        // 0 = 80% of the machine's
  int threads = 0;                    // 0 = one for each core
  std::string rule_cache = {};        // a file that remembers what holds; "": nothing is remembered
  /// Called after each rule, from one thread at a time.
  std::function<void(size_t done, size_t total)> progress = {};
  std::optional<Interrupt> interrupt = {};
};

/// Of a rule that is built in, tests of its own stand for all instances: Tested, with 0 cases.
enum class RuleStatus : uint8_t {
  Proved,   // for all sizes, and at all instances
  Tested,   // both sides are equal at all instances
  Untested, // so they are, but instances of some kinds were not found
  Refuted,  // they differ
  Empty,    // no instance was found: the rule never applies
  Fault,    // the check failed
  Stopped,  // a limit left no answer
  Unread,   // its declaration has errors: nothing was compared
};
template <> struct Words<RuleStatus> {
  static constexpr std::string_view kRows[] = {"proved", "tested", "untested", "refuted",
                                               "empty",  "fault",  "stopped",  "unread"};
};

/// What is known of one rule. A declaration with directions or operator variables gives several.
struct RuleVerdict {
  std::string rule, set; // "relu_relu", of the rule set "algebra"
  std::string file;      // where it is declared
  uint32_t line = 0;
  RuleStatus status = RuleStatus::Tested;
  size_t cases = 0; // instances compared
  /// Of them, those that are equal at random points modulo primes, and the chance that one of these
  /// is wrongly taken for equal; of the others float64 says so.
  size_t in_field = 0;
  double error_bound = 0;
  /// What the rule changes in floats: its class, and what the instances showed.
  Numerics numerics = Numerics::Exact, observed = Numerics::Exact;
  std::string why;            // of all but Proved and Tested, for a person
  std::string unproved;       // of Tested, where a proof was tried: what stood against it
  std::string counterexample; // of Refuted: .tg text with the models `left` and `right`
};

/// Verifies rules: one verdict for each, in the order of the selection; rules that cannot be read
/// come last. Errors: files; texts without a readable rule; unknown names.
Expected<std::vector<RuleVerdict>> verify_rules(const VerifyRulesOptions& options = {});

// --- extraction ---------------------------------------------------------------------------------

struct ExtractOptions {
  Extractor extract = Extractor::Best;
  IlpCycles ilp_cycles = IlpCycles::None;
  bool check = false; // the answer, by a checker that shares nothing with the extractors
  uint64_t seed = 1;
  double time_limit_s = -1;    // negative: 60
  int64_t memory_limit_mb = 0; // 0 = 80% of the machine's
  std::optional<Interrupt> interrupt = {};
};

/// The best graph of an e-graph, so far as it was found. Costs are in the unit of the file.
struct Extraction {
  size_t nodes = 0, classes = 0, roots = 0; // of the e-graph
  /// For each class that the roots reach, the node chosen: the ids of the file.
  std::vector<std::pair<std::string, std::string>> choices;
  std::string algorithm;          // what found it: "ilp", "greedy-dag", ...
  double dag_cost = 0;            // each node that was chosen counted once
  double tree_cost = 0;           // once for each use
  double reported_cost = 0;       // what the algorithm itself thinks that it costs
  double lower_bound = 0;         // no choice costs less
  bool optimal = false;           // the choice does not cost more than that
  double read_s = 0, seconds = 0; // for reading; for the choice
  std::string note;               // what did not go as asked
};

/// Extraction alone, of an e-graph in the egraph-serialize JSON form; `name` stands in diagnostics.
/// Errors: what is no such file (E0606); a root that cannot be extracted (E0601).
Expected<Extraction> extract(std::string_view text, std::string_view name = "<e-graph>",
                             const ExtractOptions& options = {});
Expected<Extraction> extract_file(const std::string& path, const ExtractOptions& options = {});

// --- prices of this machine ---------------------------------------------------------------------

struct CalibrateOptions {
  Backend backend = kDefaultBackend;       // not Ref
  double time_limit_s = kCalibrateSeconds; // negative: none; a later call goes on
  int64_t memory_limit_mb = 0;             // 0 = 80% of the machine's
  int threads = 0;                         // 0 = one for each core
  std::string cost_db = {};                // where times are kept; "" = the user's cache folder
  /// Called while operators are timed.
  std::function<void(size_t done, size_t total)> progress = {};
};

/// What was timed, and what it taught the price model (CostSpec::calibrated).
struct Calibration {
  size_t timed = 0;     // operators, now
  size_t unsettled = 0; // of them: taken beside other work, and not kept
  size_t samples = 0;   // that the price model has learned from
  double seconds = 0;
  /// Of operators that the model had not seen: the median of |guess / time - 1|. None: too few.
  std::optional<double> median_error;
  bool finished = false; // nothing is left to be timed
  std::vector<std::string> notes;
};

/// Times operators of all kinds on this machine, so that searches guess the prices of theirs.
Expected<Calibration> calibrate(const CalibrateOptions& options = {});

// --- running ----------------------------------------------------------------------------------

/// f32, row-major; as many elements as the shape says. Inputs, weights and outputs of another dtype
/// are converted from it and to it, as the operator `cast` does: an i64 beyond 2^24 is rounded,
/// and so is an f64.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> data;
};

struct CompileOptions {
  Backend backend = kDefaultBackend;
  /// F32, F16 or BF16: what f32 of the model is computed in, with sums in f32; inputs and outputs
  /// keep their types.
  DType dtype = DType::F32;
  bool allow_tf32 = false; // of cuda: f32 products in tf32
  /// Share of the time that a run may add, by estimates, to hold less memory: results that wait
  /// long for a reader are made again there.
  double recompute = 0;
  int threads = 0;             // 0 = one for each core
  int64_t memory_limit_mb = 0; // 0 = 80% of the machine's
  std::string cost_db = {};    // what tuning found and cuda measures; "" = the user's cache folder
  /// Milliseconds in which operators that were never tuned may try what tuned ones near to them
  /// use; what comes of it is kept for later programs. 0: nothing is tried, and loading is as fast
  /// as it can be.
  double tune_near_ms = 0;
  uint64_t seed = 1; // of random weights
  /// Gives a weight by its path; without it weights are those of the model's .onnx file, else
  /// random from (seed, path).
  std::function<Tensor(const std::string& path, const std::vector<int64_t>& shape)> weights = {};
  /// A .safetensors file that has all weights, as `tg run --weights`; narrower floats are widened
  /// where the model has them. Of `weights` and this only one may be given.
  std::string weights_file = {};
  std::vector<ExternOp> externs = {}; // kernels of the `extern op`s that the model calls
};

struct TimeOptions {
  size_t runs = 0;      // 0: for so many seconds, at least 5 and at most 300; of Ref one
  double seconds = 0.5; // where `runs` is 0
  size_t warmup = 2;    // runs before those that count
  /// Instances side by side, as a server runs them, each with weights and memory of its own; more
  /// than one needs cuda. Times are those of rounds in which each runs once.
  int streams = 1;
  bool steps = false; // with Timing::steps, from runs of their own
};

/// One operator, or what the backend does in one kernel.
struct StepTiming {
  std::string name, result; // "conv2d", "f32[1, 64, 56, 56]"
  std::string implementation;
  double median_us = 0;
  double flops = 0, bytes = 0; // bytes: read and written at least once
};

/// How long runs took, in microseconds: the median, what a tenth and nine tenths of them kept to,
/// and the least.
struct Timing {
  size_t runs = 0;
  double median_us = 0, p10_us = 0, p90_us = 0, min_us = 0;
  double runs_per_s = 0; // of all instances together
  std::vector<StepTiming> steps = {};
  double device_us = 0; // with steps: a run on the device alone; 0 where that is not known
};

/// What a program runs on, and what it holds.
struct ProgramInfo {
  std::string backend, device; // "cpu"; processor or GPU, with libraries and their versions
  int threads = 1;
  double build_s = 0; // what compile() took, but for reading or drawing weights
  double memory_mb = 0;
  std::vector<std::string> notes; // what a person should know of what the backend keeps
};

/// A model made ready on a backend: memory placed, weights loaded.
class Program {
public:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  /// Inputs in the order of Model::inputs(), outputs in that of Model::outputs(). Weights that the
  /// model updates begin as its weights, and every run, also those of time(), goes on from what the
  /// last one made of them: the outputs behind its results, under their paths.
  Expected<std::vector<Tensor>> run(const std::vector<Tensor>& inputs);
  /// The same on memory of the caller, of the types of the model: nothing is converted, and nothing
  /// is allocated for elements. Errors: types or numbers of inputs or outputs; the device's.
  std::optional<Error> run(const std::vector<ConstTensorView>& inputs,
                           const std::vector<TensorView>& outputs);
  /// Repeated runs on these inputs. With several streams, `weights` of the options is called again.
  Expected<Timing> time(const std::vector<Tensor>& inputs, const TimeOptions& options = {});
  ProgramInfo info() const;

private:
  std::unique_ptr<Impl> impl_;
};

Expected<Program> compile(const Model& model, const CompileOptions& options = {});

/// An output of a run beside what the reference says.
struct OutputDifference {
  std::string name;
  /// max |a - b| over max |b|; infinite where a value is NaN or infinite.
  double difference = 0;
  bool within_bound = false; // 1e-4; of F16 2e-2, of BF16 1e-1, of tf32 1e-2
};

/// Runs `model` as the options say and `source` on the backend ref in f32, with the same weights
/// and on the same inputs: what `tg run --opt --check` does. Of each output, in order.
/// Errors: inputs or outputs that are not the same in both (E0801); inputs; those of compile().
Expected<std::vector<OutputDifference>> check_outputs(const Model& model, const Model& source,
                                                      const std::vector<Tensor>& inputs,
                                                      const CompileOptions& options = {});

/// Writes the weights of an optimised model as .safetensors, with nothing left to compute at load:
/// those of its source as they are, by the options, and what the optimiser computes of weights
/// alone computed now, with a record of what it was computed from, by which verify() traces it. The
/// model that reads the file: every operator that a run needs of weights alone is the weight
/// `P.folded` in it, P the first weight below. What `tg opt -o --weights-out` writes.
Expected<Model> save_weights(const Model& model, const std::string& path,
                             const CompileOptions& options = {});

/// What an ONNX file takes for granted, in sentences ("`ids` has to name rows from 0 to 4: ...").
using OnnxNotes = std::vector<std::string>;

/// Writes a model with its weights, from the options, as an ONNX file in operators of ONNX alone; a
/// file of more than 2 GB has its weights in a second one, `path`.data. What `tg export` does. A
/// search for such a file leaves out what only this runtime has in one kernel:
/// OptimizeOptions::rules
/// {"default", "-winograd", "-fuse_pointwise"}.
/// `opset` 0: 18, or what operators need that are kept (ParseOptions::keep_for_opset).
/// Errors: what ONNX's operators cannot say (E0511); files; weights that are missing.
Expected<OnnxNotes> save_onnx(const Model& model, const std::string& path, int opset = 0,
                              const CompileOptions& options = {});

} // namespace tangram
