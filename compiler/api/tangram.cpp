// Implements the public API with the functions of this folder: models and programs are opaque,
// diagnostics are rendered to text, and nothing is thrown. Each call has its own sources and
// symbols, so nothing is shared except the caller's objects.
#include "tangram/tangram.h"

#include "compiler/api/backends/backends.h"
#include "compiler/api/calibration/calibration.h"
#include "compiler/api/extract_egraph.h"
#include "compiler/api/files/model.h"
#include "compiler/api/files/onnx_export.h"
#include "compiler/api/files/weights.h"
#include "compiler/api/optimize_model.h"
#include "compiler/api/public_models.h"
#include "compiler/api/public_types.h"
#include "compiler/api/recipe.h"
#include "compiler/api/verify/verify_models.h"
#include "compiler/api/verify/verify_rules.h"
#include "compiler/ir/to_text.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/report/pages/graph_picture.h"
#include "compiler/report/public_report.h"
#include "compiler/report/report_json.h"
#include "compiler/report/trace_check.h"
#include "compiler/rules/text.h"
#include "compiler/search/portfolio/segments.h"
#include "compiler/trial/run_model.h"
#include "compiler/trial/run_steps.h"
#include "compiler/verify/join.h"
#include "lang/check/composite.h"
#include "lang/core/version.h"
#include "lang/syntax/parse.h"
#include "runtime/convert.h"
#include "runtime/execute.h"

#include <cmath>

namespace tangram {

using tg::DiagnosticSink;
using tg::SourceManager;

struct Program::Impl {
  tg::LoadedProgram loaded;
  bool ran = false; // the last run's outputs have the updated weights
};

namespace {

tg::ModelRequest request(const ParseOptions& options) {
  return {options.model,
          {options.set.begin(), options.set.end()},
          {options.shapes, options.dims, options.keep_for_opset}};
}

std::vector<int64_t> shape_of(const tg::TensorType& type) {
  return {type.shape.begin(), type.shape.end()};
}

TensorSpec spec(std::string name, const tg::TensorType& type) {
  return {std::move(name), tg::to_public(type.dtype), shape_of(type)};
}

/// Checks that the backend supports f32 products in tf32; `where` names the context in the message.
tg::Result<void> check_tf32(bool asked, const Backend* backend, llvm::StringRef where) {
  const tg::BackendRow* row = backend ? tg::find_backend(*backend) : nullptr;
  if (!asked || (row && row->tf32)) return {};
  std::string having = tg::backend_names(std::mem_fn(&tg::BackendRow::tf32));
  return tg::error(tg::Code::usage, "`allow_tf32` requires {0}, not `{1}`",
                   having.empty() ? "a backend that is not in this build" : having, where);
}

/// Wraps the kernel with the types of this header; constant parts are made once.
tg::ExternKernel wrapped(const ExternOp& op) {
  return [kernel = op.kernel](llvm::ArrayRef<tg::ExternOperand> operands,
                              const tg::TensorType& type, std::byte* result) {
    std::vector<ConstTensorView> views;
    for (const tg::ExternOperand& operand : operands)
      views.push_back({operand.data, tg::to_public(operand.type->dtype), shape_of(*operand.type)});
    kernel(views, {result, tg::to_public(type.dtype), shape_of(type)});
  };
}

/// Reads one declaration. Returns nullopt if the sink got errors.
std::optional<std::pair<std::string, std::string>>
read_declaration(const std::string& text, SourceManager& sources, DiagnosticSink& sink) {
  tg::Ast tree = tg::parse(sources, sources.add("<extern op>", text), sink);
  if (sink.failed()) return std::nullopt;
  bool one = tree.decls().size() == 1 && tree[tree.decls()[0]].kind == tg::ast::DeclKind::Op &&
             tree[tree.decls()[0]].external;
  if (!one) {
    sink.report(
        tg::error(tg::Code::usage, "`{0}` is not a declaration of exactly one `extern op`", text));
    return std::nullopt;
  }
  const tg::ast::Decl& decl = tree[tree.decls()[0]];
  tg::Result<std::string> signature = tg::extern_signature(tree, decl);
  if (signature) return std::make_pair(decl.name.text.str(), std::move(*signature));
  sink.report(std::move(signature.error()));
  return std::nullopt;
}

/// Returns null if there are none, or if the sink got errors.
std::shared_ptr<const tg::ExternKernels>
extern_kernels(const std::vector<ExternOp>& ops, SourceManager& sources, DiagnosticSink& sink) {
  auto kernels = std::make_shared<tg::ExternKernels>();
  for (const ExternOp& op : ops) {
    auto declared = read_declaration(op.declaration, sources, sink);
    if (declared && !op.kernel)
      sink.report(tg::error(tg::Code::usage, "`{0}` has no kernel", declared->first));
    else if (declared)
      kernels->add(declared->first, declared->second, wrapped(op));
  }
  return ops.empty() || sink.failed() ? nullptr : std::move(kernels);
}

/// Returns true if a tensor with this number of elements can have the shape. Divides instead of
/// multiplying, so that no size overflows.
bool shape_fits(const std::vector<int64_t>& shape, size_t elements) {
  if (shape.size() > static_cast<size_t>(tg::kMaxRank)) return false;
  if (elements == 0)
    return llvm::is_contained(shape, 0) && llvm::all_of(shape, [](int64_t n) { return n >= 0; });
  for (int64_t size : shape) {
    if (size <= 0 || elements % static_cast<size_t>(size) != 0) return false;
    elements /= static_cast<size_t>(size);
  }
  return elements == 1;
}

tg::Result<tg::Tensor> to_tensor(const Tensor& tensor, tg::DType dtype, llvm::StringRef what) {
  if (!shape_fits(tensor.shape, tensor.data.size()))
    return tg::error(tg::Code::bad_input_value,
                     "{0} has {1} elements, which does not match its shape", what,
                     tensor.data.size());
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

/// Sets the weights of the options, or else the model's own.
tg::Result<void> give_weights(const Model& model, const tg::Graph& graph,
                              const CompileOptions& options, tg::PrepareOptions& prepare) {
  if (!options.weights_file.empty() && options.weights)
    return tg::error(tg::Code::usage, "weights are given both by a function and by a file");
  std::shared_ptr<const tg::WeightFile> file = model.impl().weights;
  if (!options.weights_file.empty()) {
    TG_TRY(file, tg::open_weight_file(graph, options.weights_file));
  }
  if (!options.weights) {
    if (file) tg::take_weights(prepare, std::move(file));
    return {};
  }
  prepare.weights = [give = options.weights](const tg::PlanValue& value) -> tg::Result<tg::Tensor> {
    return to_tensor(give(value.name, shape_of(value.type)), value.type.dtype, value.name);
  };
  return {};
}

} // namespace

const char* version() { return tg::kProgramVersion; }

Interrupt::Interrupt() : impl_(std::make_shared<Impl>()) {}
void Interrupt::request() const { impl_->wish.request(); }
bool Interrupt::requested() const { return impl_->wish.requested(); }

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

std::vector<TensorSpec> Model::weights() const {
  std::vector<TensorSpec> specs;
  for (const tg::WeightRow& row : tg::compare_weights(impl_->graph, nullptr))
    specs.push_back(spec(row.path, row.type));
  return specs;
}

size_t Model::op_count() const { return impl_->graph.op_count(); }
std::string Model::text() const { return tg::to_text(impl_->graph); }

namespace {

/// Returns the instance at the sizes of a plain run, with the family if sizes are open.
Expected<Model> plain_instance(std::shared_ptr<ModelFamily> family, DiagnosticSink& sink) {
  if (!family->model) return to_error(sink, family->sources);
  std::optional<tg::LoadedModel> loaded = family->model->at(family->model->sample(), sink);
  if (!loaded) return to_error(sink, family->sources);
  if (!family->model->is_open()) family = nullptr;
  return to_model(std::move(loaded->graph), std::move(loaded->weights), std::move(loaded->kept),
                  std::move(family));
}

} // namespace

Expected<Model> parse(std::string_view text, std::string_view name, const ParseOptions& options) {
  auto family = std::make_shared<ModelFamily>();
  DiagnosticSink sink;
  tg::Result<tg::FileId> file =
      tg::load_text(family->sources, std::string(name), std::string(text));
  if (!file) return to_error(file.error());
  family->model = tg::OpenModel::open(family->sources, *file, request(options), sink);
  return plain_instance(std::move(family), sink);
}

Expected<Model> parse_file(const std::string& path, const ParseOptions& options) {
  auto family = std::make_shared<ModelFamily>();
  DiagnosticSink sink;
  family->model =
      tg::OpenModel::open(family->sources, llvm::StringRef(path), request(options), sink);
  return plain_instance(std::move(family), sink);
}

namespace {

tg::TensorType to_type(const ConstTensorView& view) {
  return {tg::to_internal(view.dtype), tg::Shape(view.shape.begin(), view.shape.end())};
}

Expected<Model> with_file(const Model& model, std::shared_ptr<const tg::WeightFile> file) {
  const Model::Impl& impl = model.impl();
  auto fits = tg::check_weights(tg::compare_weights(impl.graph, file.get()), impl.graph.name(),
                                file->file_name());
  if (!fits) return to_error(fits.error());
  return to_model(impl.graph, std::move(file), impl.kept, impl.family);
}

} // namespace

Expected<Model> with_weights(const Model& model, const std::vector<GivenWeight>& weights) {
  std::vector<tg::TensorInMemory> tensors;
  for (const GivenWeight& weight : weights)
    tensors.push_back({weight.path, to_type(weight.view),
                       static_cast<const std::byte*>(weight.view.data), weight.owner});
  return with_file(model, tg::weight_file(std::move(tensors)));
}

Expected<Model> with_weights(const Model& model, const std::string& path) {
  tg::Result<std::shared_ptr<const tg::WeightFile>> file = tg::open_weight_file(path);
  if (!file) return to_error(file.error());
  return with_file(model, std::move(*file));
}

// --- optimiser --------------------------------------------------------------------------------

namespace {

/// Adapts a judge of models to graphs, with the weights of their source.
tg::GraphJudge graph_judge(const Judge& judge, const Model& source) {
  if (!judge) return {};
  return [judge, &source](const tg::Graph& graph) { return judge(rewritten(source, graph)); };
}

} // namespace

namespace {

/// Fills the public result. `recipes`: null, or those of a model with open sizes.
Expected<Optimized> to_public(const Model& model, const OptimizeOptions& options,
                              tg::OptimizedModel found,
                              std::shared_ptr<const tg::SizeRecipes> recipes,
                              const tg::Graph& source) {
  tg::Optimized& result = found.result;
  Report report = tg::public_report(result.report);
  report.verified = found.verified;
  Optimized optimized{to_model(std::move(result.graph), model.impl().weights, model.impl().kept),
                      std::move(report)};
  if (options.explain) optimized.steps = tg::steps_of(*result.chain, found.rules);
  optimized.report_json = tg::report_json(result.report, options.priors);
  optimized.trace_json = std::move(found.trace);
  if (options.recipe) {
    if (!result.chain)
      return to_error(tg::error(tg::Code::limit_no_answer, "{0}", result.unexplained));
    optimized.recipe = to_recipe(*result.chain, std::move(found.rules), source, options);
  }
  if (recipes) {
    for (const tg::SizeRecipes::Serving& serving : recipes->recipes())
      optimized.recipes.push_back(serving.recipe);
    optimized.for_sizes =
        std::make_shared<const Optimized::ForSizes>(Optimized::ForSizes{model, std::move(recipes)});
  }
  return optimized;
}

} // namespace

Expected<Optimized> optimize(const Model& model, const OptimizeOptions& options) {
  SourceManager sources;
  DiagnosticSink sink;
  CostSpec cost = tg::resolved(options.cost);
  bool timed = tg::is_timed(cost);
  Backend backend = tg::backend_of_costs(cost);
  std::string where = timed ? tg::name_of(backend) : cost.text();
  if (auto fits = check_tf32(options.allow_tf32, timed ? &backend : nullptr, where); !fits)
    return to_error(fits.error());
  std::shared_ptr<const tg::ExternKernels> externs = extern_kernels(options.externs, sources, sink);
  if (sink.failed()) return to_error(sink, sources);
  tg::OptimizeHost host{.weights = model.impl().weights,
                        .kept = model.impl().kept,
                        .chain = options.recipe,
                        .judge = graph_judge(options.judge, model)};
  if (const std::shared_ptr<ModelFamily>& family = model.impl().family) {
    if (!family->model->check(sink)) return to_error(sink, family->sources);
    std::optional<tg::SizesOptimized> found = tg::optimize_sizes(
        *family->model, options, std::move(externs), std::move(host), sources, sink);
    if (!found) return to_error(sink, sources);
    return to_public(model, options, std::move(found->best), std::move(found->recipes),
                     found->source.graph);
  }
  const tg::Graph source = own_graph(model);
  std::optional<tg::OptimizedModel> found =
      tg::optimize_model(source, options, std::move(externs), host, sources, sink);
  if (!found) return to_error(sink, sources);
  return to_public(model, options, std::move(*found), nullptr, source);
}

Expected<Repeated> Optimized::at(const Sizes& sizes) const {
  if (!for_sizes)
    return to_error(tg::error(tg::Code::no_solution,
                              "there are no recipes for other sizes: `{0}` had no open sizes, or "
                              "its rewrites were not derived",
                              model.name()));
  tg::Result<tg::sizes::Point> point = point_of(for_sizes->source, sizes);
  if (!point) return to_error(point.error());
  Expected<Model> source = for_sizes->source.at(sizes);
  if (!source) return source.error();
  return repeat(for_sizes->recipes->at(*point), *source);
}

Expected<std::string> report_page(std::string_view trace_json) {
  tg::Result<llvm::json::Value> trace =
      tg::parse_trace({trace_json.data(), trace_json.size()}, "<trace>");
  if (!trace) return to_error(trace.error());
  return tg::pages::trace_page(*trace);
}

std::string graph_svg(const Model& model, const Model* other) {
  const tg::Graph& graph = model.impl().graph;
  tg::Picture picture =
      other ? tg::picture_with_changes(graph, other->impl().graph) : tg::picture_of(graph);
  return picture.nodes.size() > tg::pages::kMostDrawn ? "" : tg::pages::svg_text(picture);
}

std::string svg_style() { return tg::pages::svg_style().str(); }

// --- equality ---------------------------------------------------------------------------------

namespace {

using Verdict = Verification::Verdict;

Verification::Element element(const std::string& name, const tg::Shape& index,
                              const tg::ConstNumber& value) {
  Verification::Element out{name, {index.begin(), index.end()}, value.number};
  if (value.is(tg::Value::Kind::Float)) out.value = value.real;
  return out;
}

Verification to_public(const tg::ModelsVerified& verified) {
  const tg::Equivalence& result = verified.result;
  Verification out;
  out.verdict = result.equal()       ? Verdict::Equal
                : result.different() ? Verdict::Different
                                     : Verdict::Undecided;
  out.method = static_cast<Verification::Method>(result.method);
  out.points = result.points;
  if (result.equal() && result.method == tg::Equivalence::Method::Field)
    out.error_bound = std::exp2(result.log2_error);
  out.why = result.undecided;
  out.caveats = result.caveats;
  const std::optional<tg::WeightDifference>& weight =
      verified.weight || !verified.folding ? verified.weight : verified.folding->wrong;
  if (const auto& example = result.counterexample) {
    out.a = element(example->output, example->index, example->a);
    out.b = element(example->output, example->index, example->b);
    if (example->complete)
      for (const tg::WitnessElement& e : example->elements)
        out.inputs.push_back(element(e.leaf, e.index, e.value));
  } else if (weight) {
    out.a = element(weight->path, weight->index, weight->a);
    out.b = element(weight->path, weight->index, weight->b);
  }
  return out;
}

} // namespace

Expected<Verification> verify(const Model& a, const Model& b, const VerifyOptions& options) {
  auto has_nodes = [](const Model& model) {
    return model.impl().kept && model.impl().kept->has_nodes();
  };
  if (a.impl().kept != b.impl().kept && (has_nodes(a) || has_nodes(b)))
    return to_error(
        tg::error(tg::Code::models_differ,
                  "`{0}` and `{1}` keep operators of different files: compare each only "
                  "with its result of optimize()",
                  a.name(), b.name()));
  tg::Result<tg::ModelsVerified> verified = tg::verify_models(
      {own_graph(a), a.name(), a.impl().weights}, {own_graph(b), b.name(), b.impl().weights},
      options, tg::stop_within(options.time_limit_s, options.memory_limit_mb, options.interrupt));
  if (!verified) return to_error(verified.error());
  return to_public(*verified);
}

// --- rules ------------------------------------------------------------------------------------

namespace {

RuleVerdict to_public(const tg::Rule& rule, const tg::RuleVerdict& v) {
  RuleVerdict out;
  out.rule = rule.name, out.set = rule.set, out.file = rule.file, out.line = rule.line;
  out.status = tg::status_of(v);
  out.cases = v.cases, out.in_field = v.in_field;
  if (v.in_field > 0) out.error_bound = std::exp2(v.log2_error);
  out.numerics = tg::to_public(v.numerics), out.observed = tg::to_public(v.observed);
  out.why = v.why, out.unproved = v.unproved, out.counterexample = v.counterexample;
  return out;
}

} // namespace

Expected<std::vector<RuleInfo>> list_rules(const std::vector<std::string>& selection) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<std::vector<tg::Rule>> rules = tg::select_rules(selection, "", sources, sink);
  if (!rules) return to_error(sink, sources);
  std::vector<RuleInfo> infos;
  for (const tg::Rule& rule : *rules)
    infos.push_back({rule.name, rule.set, rule.file, rule.line, rule.with_program,
                     tg::to_public(rule.numerics), tg::rule_text(rule),
                     tg::rule_fingerprint(rule)});
  return infos;
}

Expected<std::vector<RuleVerdict>> verify_rules(const VerifyRulesOptions& options) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<tg::RulesVerified> verified = tg::verify_rules(options, {}, sources, sink);
  if (!verified) return to_error(sink, sources);
  std::vector<RuleVerdict> verdicts;
  for (size_t i = 0; i < verified->rules.size(); ++i)
    verdicts.push_back(to_public(verified->rules[i], verified->verdicts[i]));
  for (const tg::UnreadRule& rule : verified->unread) {
    RuleVerdict& out = verdicts.emplace_back();
    out.rule = rule.name, out.set = rule.set, out.file = rule.file, out.line = rule.line;
    out.status = RuleStatus::Unread, out.why = rule.why;
  }
  return verdicts;
}

// --- extraction -------------------------------------------------------------------------------

namespace {

template <class T> Expected<T> to_expected(tg::Result<T> result) {
  if (!result) return to_error(result.error());
  return std::move(*result);
}

tg::StopToken stop_of(const ExtractOptions& o) {
  return tg::stop_within(-1, o.memory_limit_mb, o.interrupt);
}

} // namespace

Expected<Extraction> extract(std::string_view text, std::string_view name,
                             const ExtractOptions& options) {
  return to_expected(tg::extract_egraph({text.data(), text.size()}, {name.data(), name.size()},
                                        options, stop_of(options)));
}

Expected<Extraction> extract_file(const std::string& path, const ExtractOptions& options) {
  return to_expected(tg::extract_egraph_file(path, options, stop_of(options)));
}

// --- prices of this machine -------------------------------------------------------------------

Expected<Calibration> calibrate(const CalibrateOptions& options) {
  tg::Result<tg::Calibration> found =
      tg::calibrate(options, tg::stop_within(options.time_limit_s, options.memory_limit_mb, {}));
  if (!found) return to_error(found.error());
  return Calibration{found->timed,        found->unsettled, found->samples, found->seconds,
                     found->median_error, found->finished,  found->notes};
}

// --- running ----------------------------------------------------------------------------------

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

namespace {

/// Returns checked options for running a graph, with weights and kernels.
Expected<tg::PrepareOptions> prepare_options(const Model& model, const tg::Graph& graph,
                                             const CompileOptions& options) {
  std::string backend = tg::name_of(options.backend);
  if (auto fits = check_tf32(options.allow_tf32, &options.backend, backend); !fits)
    return to_error(fits.error());
  if (auto fits = tg::check_run_dtype(options.dtype); !fits) return to_error(fits.error());
  tg::PrepareOptions prepare = tg::run_options(options);
  SourceManager sources;
  DiagnosticSink sink;
  prepare.externs = extern_kernels(options.externs, sources, sink);
  if (sink.failed()) return to_error(sink, sources);
  if (auto given = give_weights(model, graph, options, prepare); !given)
    return to_error(given.error());
  return prepare;
}

/// Makes a loaded program read the weights of its model only while the model exists. The program
/// owns the weights it runs on, packed or not. Weights that it updates start as the model's.
void reference_weights_weakly(const Model& model, tg::LoadedProgram& program) {
  const std::shared_ptr<const tg::WeightFile>& weights = model.impl().weights;
  const tg::Plan& plan = program.prepared.plan;
  bool updates =
      llvm::any_of(plan.inputs, [&](tg::PlanValueId id) { return !plan.values[id].init.empty(); });
  if (!weights || weights != program.options.weight_file || updates) return;
  program.options.weight_file.reset();
  program.options.weights =
      [weak = std::weak_ptr(weights)](const tg::PlanValue& value) -> tg::Result<tg::Tensor> {
    if (std::shared_ptr<const tg::WeightFile> file = weak.lock())
      return tg::weights_from(std::move(file))(value);
    return tg::error(tg::Code::usage,
                     "the weights were freed with the model: keep the model alive to load its "
                     "program again (`streams`)");
  };
}

} // namespace

Expected<Program> compile(const Model& model, const CompileOptions& options) {
  const tg::Graph graph = own_graph(model);
  Expected<tg::PrepareOptions> prepare = prepare_options(model, graph, options);
  if (!prepare) return prepare.error();
  prepare->shared = tg::SharedWeights::of_process();
  tg::Result<tg::LoadedProgram> loaded = tg::load_program(graph, *prepare);
  if (!loaded) return to_error(loaded.error());
  reference_weights_weakly(model, *loaded);
  return Program(std::make_unique<Program::Impl>(Program::Impl{std::move(*loaded)}));
}

Expected<Model> save_weights(const Model& model, const std::string& path,
                             const CompileOptions& options) {
  const tg::Graph graph = own_graph(model);
  Expected<tg::PrepareOptions> prepare = prepare_options(model, graph, options);
  if (!prepare) return prepare.error();
  tg::Result<tg::Graph> folded = tg::save_folded(graph, *prepare, path);
  if (!folded) return to_error(folded.error());
  return to_model(std::move(*folded));
}

Expected<OnnxNotes> save_onnx(const Model& model, const std::string& path, int opset,
                              const CompileOptions& options) {
  const tg::Graph graph = own_graph(model);
  Expected<tg::PrepareOptions> prepare = prepare_options(model, graph, options);
  if (!prepare) return prepare.error();
  tg::Result<tg::OnnxExport> written =
      tg::export_onnx(graph, model.impl().kept.get(), *prepare, opset, path);
  if (!written) return to_error(written.error());
  return std::move(written->notes);
}

namespace {

tg::Result<std::vector<tg::Tensor>> to_inputs(const tg::Plan& plan,
                                              const std::vector<Tensor>& inputs) {
  std::vector<tg::Tensor> bound;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool known = i < plan.inputs.size(); // otherwise the executable reports the number
    tg::DType dtype = known ? plan.values[plan.inputs[i]].type.dtype : tg::DType::F32;
    TG_TRY(tg::Tensor tensor, to_tensor(inputs[i], dtype, "input " + std::to_string(i)));
    bound.push_back(std::move(tensor));
  }
  return bound;
}

/// Returns the initial values of the weights that the model updates, which follow the inputs.
tg::Result<std::vector<tg::Tensor>> updated_at_first(const tg::Plan& plan,
                                                     const tg::PrepareOptions& options) {
  std::vector<tg::Tensor> begin;
  for (tg::PlanValueId id : plan.inputs) {
    const tg::PlanValue& value = plan.values[id];
    if (value.init.empty()) continue;
    TG_TRY(tg::Tensor weight, tg::beginning_of(value, options));
    begin.push_back(std::move(weight));
  }
  return begin;
}

/// Binds the caller's inputs, followed by the weights that the model updates, with their initial
/// values or those of the last run.
tg::Result<void> bind(Program::Impl& impl, std::vector<tg::TensorView> views) {
  const tg::Plan& plan = impl.loaded.prepared.plan;
  tg::Executable& executable = *impl.loaded.prepared.executable;
  auto is_updated = [&](tg::PlanValueId id) { return !plan.values[id].init.empty(); };
  auto updated = static_cast<size_t>(llvm::count_if(plan.inputs, is_updated));
  if (updated == 0) return executable.bind_views(views);
  if (views.size() != plan.inputs.size() - updated)
    return tg::error(tg::Code::bad_input_value, "the number of inputs of `{0}` is {1}, got {2}",
                     plan.model, plan.inputs.size() - updated, views.size());
  std::vector<std::optional<size_t>> outputs(views.size());
  std::vector<tg::Tensor> begin;
  if (impl.ran) {
    TG_TRY(outputs, tg::carried_inputs(plan));
    for (size_t i = 0; i < views.size(); ++i) outputs[i].reset(); // owned by the caller
    views.resize(outputs.size());
  } else {
    TG_TRY(begin, updated_at_first(plan, impl.loaded.options));
    llvm::append_range(views, tg::views_of(begin));
    outputs.resize(views.size());
  }
  TG_CHECK(executable.bind_next(views, outputs));
  impl.ran = true;
  return {};
}

} // namespace

namespace {

/// Checks that inputs and outputs have the same names and types, in the same order.
tg::Result<void> check_interface(const tg::Graph& a, const tg::Graph& b) {
  if (tg::Result<tg::Joined> joined = tg::join(a, b); !joined) return std::move(joined.error());
  for (size_t i = 0; i < a.inputs().size(); ++i) {
    const std::string &of_a = a.attr(a.inputs()[i], 0).text, &of_b = b.attr(b.inputs()[i], 0).text;
    if (of_a != of_b)
      return tg::error(tg::Code::models_differ,
                       "input {0} is `{1}` in one model and `{2}` in the other", i, of_a, of_b);
  }
  return {};
}

} // namespace

Expected<std::vector<OutputDifference>> check_outputs(const Model& model, const Model& source,
                                                      const std::vector<Tensor>& inputs,
                                                      const CompileOptions& options) {
  const tg::Graph graph = own_graph(model), from = own_graph(source);
  if (auto same = check_interface(graph, from); !same) return to_error(same.error());
  Expected<tg::PrepareOptions> prepare = prepare_options(source, from, options);
  if (!prepare) return prepare.error();
  auto bound = [&](const tg::Plan& plan) -> tg::Result<std::vector<tg::Tensor>> {
    TG_TRY(std::vector<tg::Tensor> all, to_inputs(plan, inputs));
    TG_TRY(std::vector<tg::Tensor> begin, updated_at_first(plan, *prepare));
    for (tg::Tensor& weight : begin) all.push_back(std::move(weight));
    return all;
  };
  tg::Result<tg::RunReport> run = tg::run_model(
      from, graph, *prepare, {.timing = {.runs = 1, .warmup = 0}, .check = true}, bound);
  if (!run) return to_error(run.error());
  std::vector<OutputDifference> differences;
  for (const tg::RunOutput& output : run->outputs)
    differences.push_back(
        {output.name, *output.max_rel_diff, *output.max_rel_diff <= output.bound});
  return differences;
}

Expected<std::vector<Tensor>> Program::run(const std::vector<Tensor>& inputs) {
  tg::Prepared& prepared = impl_->loaded.prepared;
  tg::Result<std::vector<tg::Tensor>> bound = to_inputs(prepared.plan, inputs);
  if (!bound) return to_error(bound.error());
  tg::Result<void> done = bind(*impl_, tg::views_of(*bound));
  if (done) done = prepared.executable->run_once();
  if (!done) return to_error(done.error());
  tg::Result<std::vector<tg::Tensor>> outputs = prepared.executable->outputs();
  if (!outputs) return to_error(outputs.error());
  std::vector<Tensor> result;
  for (const tg::Tensor& tensor : *outputs) result.push_back(to_public(tensor));
  return result;
}

namespace {

/// Errors: `bad_input_value` if the memory of an output does not fit.
tg::Result<std::vector<std::byte*>> output_places(const tg::Plan& plan,
                                                  const std::vector<TensorView>& outputs) {
  if (outputs.size() != plan.outputs.size())
    return tg::error(tg::Code::bad_input_value,
                     "the number of outputs of `{0}` is {1}, got memory for {2}", plan.model,
                     plan.outputs.size(), outputs.size());
  std::vector<std::byte*> places;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const tg::TensorType& type = plan.values[plan.outputs[i].value].type;
    if (outputs[i].dtype != tg::to_public(type.dtype) || !llvm::equal(outputs[i].shape, type.shape))
      return tg::error(tg::Code::bad_input_value,
                       "the memory for output {0} must have the type {1}", i, type.text());
    places.push_back(static_cast<std::byte*>(outputs[i].data));
  }
  return places;
}

} // namespace

std::optional<Error> Program::run(const std::vector<ConstTensorView>& inputs,
                                  const std::vector<TensorView>& outputs) {
  tg::Prepared& prepared = impl_->loaded.prepared;
  tg::Result<std::vector<std::byte*>> places = output_places(prepared.plan, outputs);
  if (!places) return to_error(places.error());
  std::vector<tg::TensorType> types;
  std::vector<tg::TensorView> views;
  types.reserve(inputs.size()); // views point into them
  for (const ConstTensorView& input : inputs) {
    types.push_back(to_type(input));
    views.push_back({&types.back(), static_cast<const std::byte*>(input.data)});
  }
  tg::Result<void> done = bind(*impl_, std::move(views));
  if (done) done = prepared.executable->run_once();
  if (done) done = prepared.executable->copy_outputs(*places);
  if (!done) return to_error(done.error());
  return std::nullopt;
}

Expected<Timing> Program::time(const std::vector<Tensor>& inputs, const TimeOptions& options) {
  tg::Prepared& prepared = impl_->loaded.prepared;
  tg::Result<std::vector<tg::Tensor>> tensors = to_inputs(prepared.plan, inputs);
  if (!tensors) return to_error(tensors.error());
  if (auto bound = bind(*impl_, tg::views_of(*tensors)); !bound) return to_error(bound.error());
  tg::Result<tg::RunTimes> times = tg::time_program(impl_->loaded, *tensors, options);
  if (!times) return to_error(times.error());
  const tg::Timing& runs = times->timing;
  Timing timing{runs.runs, runs.median_us, runs.p10_us, runs.p90_us, runs.min_us};
  timing.runs_per_s = times->runs_per_s();
  timing.device_us = times->device_us;
  for (tg::StepInfo& step : times->steps)
    timing.steps.push_back({std::move(step.name), std::move(step.result),
                            std::move(step.implementation), step.measured_us, step.flops,
                            step.bytes});
  return timing;
}

ProgramInfo Program::info() const {
  const tg::Prepared& prepared = impl_->loaded.prepared;
  double memory = static_cast<double>(prepared.executable->memory().total());
  return {prepared.backend->name(), prepared.backend->description(),
          prepared.threads,         impl_->loaded.build_s,
          memory / (1 << 20),       prepared.backend->notes()};
}

} // namespace tangram
