// The public API over the driver's own parts: opaque models and programs, diagnostics rendered to
// text, nothing thrown. Each call has its own sources and symbols, so nothing is shared that a
// caller does not hold.
#include "tangram/tangram.h"

#include "compiler/driver/backends.h"
#include "compiler/driver/cost_model.h"
#include "compiler/driver/model.h"
#include "compiler/driver/rule_trust.h"
#include "compiler/driver/weights.h"
#include "compiler/driver/whole_runs.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/ir/retype.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/retyped_cost.h"
#include "compiler/rules/from_ast.h"
#include "lang/check/external.h"
#include "lang/syntax/parse.h"
#include "runtime/convert.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <cstring>

namespace tangram {

using tg::DiagnosticSink;
using tg::SourceManager;

struct Model::Impl {
  tg::Graph graph;
};

struct Program::Impl {
  tg::Prepared prepared;
};

namespace {

Diagnostic to_public(const tg::Diagnostic& d, const SourceManager& sources) {
  Diagnostic out;
  out.code = tg::code_text(d.code);
  out.message = d.message;
  if (d.span.valid()) {
    const tg::SourceFile& file = sources.file(d.span.file);
    tg::LineColumn at = file.position(d.span.begin);
    out.file = file.name().str();
    out.line = at.line;
    out.column = at.column;
  }
  llvm::raw_string_ostream text(out.text);
  tg::render(d, sources, text);
  text.flush();
  return out;
}

Error to_error(DiagnosticSink& sink, const SourceManager& sources) {
  sink.sort();
  Error error;
  for (const tg::Diagnostic& d : sink.all())
    if (d.severity == tg::Severity::Error) error.diagnostics.push_back(to_public(d, sources));
  return error;
}

Error to_error(const tg::Diagnostic& d) { return Error{{to_public(d, SourceManager())}}; }

tg::ModelRequest request(const ParseOptions& options) {
  return {options.model, {options.set.begin(), options.set.end()}};
}

Expected<Model> to_model(std::optional<tg::Graph> graph, DiagnosticSink& sink,
                         const SourceManager& sources) {
  if (!graph) return to_error(sink, sources);
  return Model(std::make_shared<const Model::Impl>(Model::Impl{std::move(*graph)}));
}

std::vector<int64_t> shape_of(const tg::TensorType& type) {
  return {type.shape.begin(), type.shape.end()};
}

TensorSpec spec(std::string name, const tg::TensorType& type) {
  return {std::move(name), tg::dtype_name(type.dtype).str(), shape_of(type)};
}

/// A word of an option, or an error that lists the words.
template <class T>
tg::Result<T> word(llvm::StringRef option, llvm::StringRef text,
                   std::initializer_list<std::pair<llvm::StringRef, T>> words) {
  std::string known;
  for (const auto& [name, value] : words) {
    if (name == text) return value;
    known += (known.empty() ? "" : ", ") + name.str();
  }
  return tg::error(tg::Code::usage, "`{0}` takes one of {1}, not `{2}`", option, known, text);
}

/// What a model runs in, on a backend.
tg::Result<tg::DType> run_dtype(llvm::StringRef dtype, bool allow_tf32, llvm::StringRef backend) {
  const tg::BackendRow* row = tg::find_backend(backend);
  if (allow_tf32 && !(row && row->tf32))
    return tg::error(tg::Code::usage, "`allow_tf32` is of cuda, not of `{0}`", backend);
  return word<tg::DType>(
      "dtype", dtype,
      {{"f32", tg::DType::F32}, {"f16", tg::DType::F16}, {"bf16", tg::DType::BF16}});
}

/// Of the costs.
std::string spec_of(const OptimizeOptions& o) {
  return o.cost.empty() ? tg::default_cost_spec() : o.cost;
}

tg::Result<tg::OptimizeOptions> translate(const OptimizeOptions& o) {
  tg::OptimizeOptions options;
  std::optional<tg::Search> search = tg::search_by_name(o.search);
  if (!search)
    return tg::error(tg::Code::usage, "`search` takes one of {0}, not `{1}`",
                     llvm::join(tg::search_names(), ", "), o.search);
  options.search = *search;
  std::optional<tg::Extractor> extractor = tg::extractor_by_name(o.extract);
  if (!extractor)
    return tg::error(tg::Code::usage, "`extract` takes one of {0}, not `{1}`",
                     llvm::join(llvm::map_range(tg::all_extractors(), tg::extractor_name), ", "),
                     o.extract);
  options.extract.extractor = *extractor;
  TG_TRY(options.explore.numerics, word<tg::Numerics>("numerics", o.numerics,
                                                      {{"exact", tg::Numerics::Exact},
                                                       {"reassociate", tg::Numerics::Reassociates},
                                                       {"all", tg::Numerics::Risky},
                                                       {"lossy", tg::Numerics::Lossy}}));
  int64_t memory = tg::memory_limit_bytes(o.memory_limit_mb);
  options.kernels = true;
  tg::set_limits(options, o.time_limit_s, o.node_limit, tg::is_calibrated(spec_of(o)));
  if (o.time_limit_s >= 0) options.stop = options.stop.within(o.time_limit_s);
  // On top of what the caller holds.
  options.stop = options.stop.holding(tg::resident_bytes() + static_cast<uint64_t>(memory));
  options.portfolio.threads = tg::thread_count(o.threads);
  options.explore.memory_limit_mb = static_cast<size_t>(memory >> 20);
  options.extract.ilp.memory_limit_bytes = static_cast<uint64_t>(memory);
  options.explore.seed = o.seed;
  return options;
}

Report to_public(const tg::OptimizeReport& r) {
  Report report;
  report.nodes_before = r.nodes_before;
  report.nodes_after = r.nodes_after;
  report.cost_before_us = r.cost_before_us;
  report.cost_after_us = r.cost_after_us;
  report.seconds = r.total_s;
  report.stopped_by = r.stopped_by;
  report.notes = r.notes;
  for (const tg::RuleCount& rule : r.rules_applied) report.rules_applied[rule.rule] = rule.count;
  return report;
}

/// The kernel behind the types of this header, whose parts that do not change are made once.
tg::ExternKernel wrapped(const ExternOp& op) {
  return [kernel = op.kernel](llvm::ArrayRef<tg::ExternOperand> operands,
                              const tg::TensorType& type, std::byte* result) {
    std::vector<ConstTensorView> views;
    for (const tg::ExternOperand& operand : operands)
      views.push_back(
          {operand.data, tg::dtype_name(operand.type->dtype).str(), shape_of(*operand.type)});
    kernel(views, {result, tg::dtype_name(type.dtype).str(), shape_of(type)});
  };
}

/// Reads one declaration. nullopt if the sink got errors.
std::optional<std::pair<std::string, std::string>>
read_declaration(const std::string& text, SourceManager& sources, DiagnosticSink& sink) {
  tg::Ast tree = tg::parse(sources, sources.add("<extern op>", text), sink);
  if (sink.failed()) return std::nullopt;
  bool one = tree.decls().size() == 1 && tree[tree.decls()[0]].kind == tg::ast::DeclKind::Op &&
             tree[tree.decls()[0]].external;
  if (!one) {
    sink.report(
        tg::error(tg::Code::usage, "`{0}` is not the declaration of one `extern op`", text));
    return std::nullopt;
  }
  const tg::ast::Decl& decl = tree[tree.decls()[0]];
  tg::Result<std::string> signature = tg::extern_signature(tree, decl);
  if (signature) return std::make_pair(decl.name.text.str(), std::move(*signature));
  sink.report(std::move(signature.error()));
  return std::nullopt;
}

/// Null where there are none, or the sink got errors.
std::shared_ptr<const tg::ExternKernels>
extern_kernels(const std::vector<ExternOp>& ops, SourceManager& sources, DiagnosticSink& sink) {
  auto kernels = std::make_shared<tg::ExternKernels>();
  for (const ExternOp& op : ops) {
    auto declared = read_declaration(op.declaration, sources, sink);
    if (declared && !op.kernel)
      sink.report(tg::error(tg::Code::usage, "`{0}` is given without a kernel", declared->first));
    else if (declared)
      kernels->add(declared->first, declared->second, wrapped(op));
  }
  return ops.empty() || sink.failed() ? nullptr : std::move(kernels);
}

tg::Result<tg::Optimized> run_optimizer(const tg::Graph& graph, llvm::ArrayRef<tg::Rule> rules,
                                        const OptimizeOptions& o,
                                        std::shared_ptr<const tg::ExternKernels> externs) {
  TG_TRY(tg::OptimizeOptions options, translate(o));
  tg::CostModelOptions cost;
  cost.spec = spec_of(o);
  cost.cost_db = o.cost_db;
  cost.threads = o.threads;
  cost.memory_limit_bytes = tg::memory_limit_bytes(o.memory_limit_mb);
  cost.allow_tf32 = o.allow_tf32;
  std::string backend = tg::backend_of_costs(cost.spec);
  bool measured = tg::is_measured(cost.spec), timed = measured || tg::is_calibrated(cost.spec);
  TG_TRY(tg::DType dtype, run_dtype(o.dtype, o.allow_tf32, timed ? backend : cost.spec));
  TG_TRY(tg::Graph as_run, tg::retype(graph, dtype));
  TG_TRY(std::unique_ptr<tg::CostModel> costs, tg::make_cost_model(cost, as_run));
  options.groups = timed;
  tg::PrepareOptions run;
  run.backend = backend;
  run.dtype = dtype;
  run.allow_tf32 = o.allow_tf32;
  run.threads = o.threads;
  run.seed = o.seed;
  run.cost_db = o.cost_db;
  run.memory_limit_bytes = tg::memory_limit_bytes(o.memory_limit_mb);
  run.externs = std::move(externs);
  tg::WholeRunPolicy runs({.cost = cost.spec, .finalists = options.finalists}, run);
  runs.set(options);
  TG_TRY(std::unique_ptr<tg::CostModel> analytic,
         tg::make_analytic_cost(tg::profile_of_backend(run.backend)));
  std::optional<tg::RetypedCost> narrow, narrow_analytic;
  tg::CostModel& prices = tg::in_dtype(dtype, *costs, narrow);
  tg::CostModel& second_opinion = tg::in_dtype(dtype, *analytic, narrow_analytic);
  return tg::optimize(graph, rules, prices, options, runs.runner(),
                      measured ? &second_opinion : nullptr);
}

/// Whether the shape is one that a tensor of so many elements can have. Counts down, so that no
/// size overflows.
bool shape_fits(const std::vector<int64_t>& shape, size_t elements) {
  if (shape.size() > static_cast<size_t>(tg::kMaxRank)) return false;
  for (int64_t size : shape) {
    if (size <= 0 || elements % static_cast<size_t>(size) != 0) return false;
    elements /= static_cast<size_t>(size);
  }
  return elements == 1;
}

tg::Result<tg::Tensor> to_tensor(const Tensor& tensor, tg::DType dtype, llvm::StringRef what) {
  if (!shape_fits(tensor.shape, tensor.data.size()))
    return tg::error(tg::Code::bad_input_value, "{0} has {1} elements, which its shape does not",
                     what, tensor.data.size());
  tg::TensorType type{dtype, tg::Shape(tensor.shape.begin(), tensor.shape.end())};
  TG_TRY(tg::Tensor copy, tg::Tensor::zeros(type));
  tg::convert(tg::DType::F32, reinterpret_cast<const std::byte*>(tensor.data.data()), dtype,
              copy.data(), type.elements());
  return copy;
}

Tensor to_public(const tg::Tensor& tensor) {
  const tg::TensorType& type = tensor.type();
  Tensor copy{shape_of(type), std::vector<float>(static_cast<size_t>(type.elements()))};
  tg::convert(type.dtype, tensor.data(), tg::DType::F32,
              reinterpret_cast<std::byte*>(copy.data.data()), type.elements());
  return copy;
}

tg::Result<tg::WeightSource> weight_source(const tg::Graph& graph, const CompileOptions& options) {
  if (!options.weights_file.empty() && options.weights)
    return tg::error(tg::Code::usage, "weights are given both by a function and by a file");
  if (!options.weights_file.empty()) return tg::open_weights(graph, options.weights_file);
  if (!options.weights) return tg::WeightSource();
  return tg::WeightSource(
      [give = options.weights](const tg::PlanValue& value) -> tg::Result<tg::Tensor> {
        return to_tensor(give(value.name, shape_of(value.type)), value.type.dtype, value.name);
      });
}

} // namespace

const char* version() { return TG_VERSION; }

// --- models -----------------------------------------------------------------------------------

std::string Model::name() const { return impl_->graph.name(); }

std::vector<TensorSpec> Model::inputs() const {
  const tg::Graph& graph = impl_->graph;
  std::vector<TensorSpec> specs;
  for (tg::NodeId id : graph.inputs())
    specs.push_back(spec(graph.attr(id, 0).text, graph.type(id)));
  return specs;
}

std::vector<TensorSpec> Model::outputs() const {
  const tg::Graph& graph = impl_->graph;
  std::vector<TensorSpec> specs;
  for (const tg::GraphOutput& out : graph.outputs())
    specs.push_back(spec(out.name, graph.type(out.node)));
  return specs;
}

size_t Model::op_count() const { return impl_->graph.op_count(); }
std::string Model::text() const { return tg::to_text(impl_->graph); }

Expected<Model> parse(std::string_view text, std::string_view name, const ParseOptions& options) {
  SourceManager sources;
  DiagnosticSink sink;
  tg::Result<tg::FileId> file = tg::load_text(sources, std::string(name), std::string(text));
  if (!file) return to_error(file.error());
  return to_model(tg::load_model(sources, *file, request(options), sink), sink, sources);
}

Expected<Model> parse_file(const std::string& path, const ParseOptions& options) {
  SourceManager sources;
  DiagnosticSink sink;
  return to_model(tg::load_model(sources, llvm::StringRef(path), request(options), sink), sink,
                  sources);
}

// --- optimiser --------------------------------------------------------------------------------

namespace {

/// The rules that the options select, then those of rule_text; verified. nullopt if the sink got
/// errors.
std::optional<std::vector<tg::Rule>> selected_rules(const OptimizeOptions& options,
                                                    SourceManager& sources, DiagnosticSink& sink) {
  auto rules = tg::load_rules(sources, tg::library(), options.rules, sink);
  if (!rules) return std::nullopt;
  if (!options.rule_text.empty()) {
    tg::Ast tree = tg::parse(sources, sources.add("<rules>", options.rule_text), sink);
    if (!sink.failed())
      for (tg::Rule& rule : tg::rules_from_ast(tree, sources, sink))
        rules->push_back(std::move(rule));
  }
  if (!sink.failed() && !options.trust_rules) {
    tg::TrustOptions trust; // without its file of verdicts: a library writes nothing unasked
    trust.threads = options.threads;
    if (options.time_limit_s >= 0) trust.stop = trust.stop.within(options.time_limit_s);
    if (auto trusted = tg::require_trusted(*rules, trust); !trusted)
      sink.report(std::move(trusted.error()));
  }
  return sink.failed() ? std::nullopt : std::move(rules);
}

} // namespace

Expected<Optimized> optimize(const Model& model, const OptimizeOptions& options) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<std::vector<tg::Rule>> rules = selected_rules(options, sources, sink);
  std::shared_ptr<const tg::ExternKernels> externs = extern_kernels(options.externs, sources, sink);
  if (!rules || sink.failed()) return to_error(sink, sources);
  tg::Result<tg::Optimized> result =
      run_optimizer(model.impl().graph, *rules, options, std::move(externs));
  if (!result) return to_error(result.error());
  auto impl = std::make_shared<const Model::Impl>(Model::Impl{std::move(result->graph)});
  return Optimized{Model(std::move(impl)), to_public(result->report)};
}

// --- running ----------------------------------------------------------------------------------

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Expected<Program> compile(const Model& model, const CompileOptions& options) {
  tg::PrepareOptions prepare;
  prepare.backend = options.backend;
  prepare.threads = options.threads;
  prepare.memory_limit_bytes = tg::memory_limit_bytes(options.memory_limit_mb);
  prepare.seed = options.seed;
  prepare.cost_db = options.cost_db;
  prepare.allow_tf32 = options.allow_tf32;
  tg::Result<tg::DType> dtype = run_dtype(options.dtype, options.allow_tf32, options.backend);
  if (!dtype) return to_error(dtype.error());
  prepare.dtype = *dtype;
  SourceManager sources;
  DiagnosticSink sink;
  prepare.externs = extern_kernels(options.externs, sources, sink);
  if (sink.failed()) return to_error(sink, sources);
  tg::Result<tg::WeightSource> weights = weight_source(model.impl().graph, options);
  if (!weights) return to_error(weights.error());
  prepare.weights = std::move(*weights);
  tg::Result<tg::Prepared> prepared = tg::prepare(model.impl().graph, prepare);
  if (!prepared) return to_error(prepared.error());
  return Program(std::make_unique<Program::Impl>(Program::Impl{std::move(*prepared)}));
}

Expected<std::vector<Tensor>> Program::run(const std::vector<Tensor>& inputs) {
  const tg::Plan& plan = impl_->prepared.plan;
  std::vector<tg::Tensor> bound;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool known = i < plan.inputs.size(); // else the executable says how many there are
    tg::DType dtype = known ? plan.values[plan.inputs[i]].type.dtype : tg::DType::F32;
    tg::Result<tg::Tensor> tensor = to_tensor(inputs[i], dtype, "input " + std::to_string(i));
    if (!tensor) return to_error(tensor.error());
    bound.push_back(std::move(*tensor));
  }
  tg::Result<std::vector<tg::Tensor>> outputs = impl_->prepared.executable->run(bound);
  if (!outputs) return to_error(outputs.error());
  std::vector<Tensor> result;
  for (const tg::Tensor& tensor : *outputs) result.push_back(to_public(tensor));
  return result;
}

} // namespace tangram
