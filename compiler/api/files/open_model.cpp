#include "compiler/api/files/open_model.h"

#include "compiler/api/files/onnx_sizes.h"
#include "compiler/ir/open_check.h"
#include "lang/check/check.h"
#include "lang/check/consteval.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <cassert>

namespace tg {

namespace {

/// Evaluates defaults of parameters, which may name other parameters.
class Defaults {
public:
  Defaults(const Ast& ast, const ast::Decl& model, const ModelSettings& settings)
      : ast_(ast), model_(model), settings_(settings) {}

  std::optional<Value> of(llvm::StringRef name, size_t depth = 0) const {
    if (auto set = settings_.find(name.str()); set != settings_.end()) return set->second;
    for (const ast::Param& param : ast_[model_.params])
      if (param.name.text == name && param.default_value && depth < kMaxCallDepth)
        return fold_expr(ast_, param.default_value,
                         [&](const ast::Expr& other) { return of(other.text, depth + 1); });
    return std::nullopt;
  }

private:
  const Ast& ast_;
  const ast::Decl& model_;
  const ModelSettings& settings_;
};

/// Returns the parameters with a range that the settings do not fix.
std::vector<OpenSize> open_sizes(const Program& program, FnRef model,
                                 const ModelSettings& settings) {
  const Ast& ast = program.module(model).ast;
  Defaults defaults(ast, program.decl(model), settings);
  std::vector<OpenSize> open;
  for (const ast::Param& param : ast[program.decl(model).params]) {
    std::optional<SizeRange> range = size_range(ast, param);
    if (!range || settings.count(param.name.text.str())) continue;
    std::optional<Value> sample = defaults.of(param.name.text);
    bool known = sample && sample->is(Value::Kind::Int);
    open.push_back({param.name.text.str(), *range, known ? sample->number : range->least});
  }
  return open;
}

} // namespace

std::optional<OpenModel> OpenModel::of_program(OpenModel model, Program program,
                                               DiagnosticSink& sink) {
  if (sink.failed() || !check_names(program, sink)) return std::nullopt;
  Result<ModelSettings> settings = read_settings(model.request_);
  Result<FnRef> fn = program.find_model(model.request_.model);
  if (!settings || !fn) {
    sink.report(settings ? std::move(fn.error()) : std::move(settings.error()));
    return std::nullopt;
  }
  if (model.request_.shared) {
    std::vector<std::string> known = setting_names(program, *fn);
    llvm::erase_if(model.request_.settings,
                   [&](const auto& setting) { return !llvm::is_contained(known, setting.first); });
  }
  model.sizes_ = open_sizes(program, *fn, *settings);
  model.program_ = std::make_shared<const Program>(std::move(program));
  return model;
}

std::optional<OpenModel> OpenModel::of_file(OpenModel model, DiagnosticSink& sink) {
  onnx::ImportOptions& options = model.request_.onnx_options;
  Result<std::shared_ptr<const onnx::ModelFile>> file = onnx::ModelFile::open(model.path_);
  if (file && model.request_.shared) leave_out_sizes(file->get(), options);
  Result<std::vector<OpenSize>> sizes =
      file ? onnx_open_sizes(**file, options)
           : Result<std::vector<OpenSize>>(std::move(file.error()));
  if (!sizes) {
    sink.report(std::move(sizes.error()));
    return std::nullopt;
  }
  model.file_ = std::move(*file);
  model.sizes_ = std::move(*sizes);
  return model;
}

std::optional<OpenModel> OpenModel::open(SourceManager& sources, llvm::StringRef path,
                                         ModelRequest request, DiagnosticSink& sink) {
  OpenModel model(sources, path.str(), std::move(request));
  if (is_onnx_path(path)) return of_file(std::move(model), sink);
  return of_program(std::move(model), load_program(sources, library(), path, sink), sink);
}

std::optional<OpenModel> OpenModel::open(SourceManager& sources, FileId file, ModelRequest request,
                                         DiagnosticSink& sink) {
  OpenModel model(sources, sources.file(file).name().str(), std::move(request));
  return of_program(std::move(model), load_program(sources, library(), file, sink), sink);
}

const Diagnostic& first_error(const DiagnosticSink& sink) {
  assert(sink.failed());
  return *llvm::find_if(sink.all(),
                        [](const Diagnostic& d) { return d.severity == Severity::Error; });
}

sizes::Point OpenModel::sample() const {
  sizes::Point point;
  for (const OpenSize& size : sizes_) point.push_back(size.sample);
  return point;
}

ModelRequest OpenModel::request_at(llvm::ArrayRef<int64_t> point) const {
  assert(point.size() == sizes_.size());
  ModelRequest request = request_;
  if (file_ && is_open()) set_onnx_sizes(sizes_, point, request.onnx_options);
  if (file_) return request;
  for (size_t i = 0; i < sizes_.size(); ++i)
    request.settings.push_back({sizes_[i].name, std::to_string(point[i])});
  return request;
}

bool OpenModel::check(DiagnosticSink& sink) const {
  Result<ModelSettings> settings = read_settings(request_);
  if (!is_open() || !program_ || !settings) return true;
  Result<FnRef> model = program_->find_model(request_.model);
  bool complete = llvm::all_of(open_names(*program_, *model),
                               [&](const std::string& name) { return settings->count(name) != 0; });
  // Without values of other parameters, at() reports these.
  return !complete || check_open(*program_, *model, sink, *settings);
}

std::optional<LoadedModel> OpenModel::at(llvm::ArrayRef<int64_t> point, DiagnosticSink& sink,
                                         std::vector<onnx::Refusal>* refused) const {
  ModelRequest request = request_at(point);
  if (!program_) {
    std::lock_guard lock(*importing_);
    return load_model(*sources_, path_, file_, request, sink, refused);
  }
  std::optional<Graph> graph = build_graph(*program_, request, sink);
  if (!graph) return std::nullopt;
  return LoadedModel{std::move(*graph)};
}

Result<LoadedModel> OpenModel::at(llvm::ArrayRef<int64_t> point) const {
  DiagnosticSink sink;
  if (std::optional<LoadedModel> model = at(point, sink)) return std::move(*model);
  Diagnostic first = first_error(sink);
  if (file_ && first.help.empty()) first.help = advice(point);
  return std::move(first).note("at " + text_of(sizes_, point));
}

std::string OpenModel::advice(llvm::ArrayRef<int64_t> failed) const {
  auto builds = [&](const sizes::Point& point) {
    DiagnosticSink unused;
    return at(point, unused).has_value();
  };
  sizes::Point least;
  for (const OpenSize& size : sizes_) least.push_back(size.range.least);
  bool starts = builds(least);
  for (size_t i = 0; starts && i < least.size(); ++i) {
    sizes::Point point = least;
    point[i] = failed[i];
    if (builds(point)) continue;
    int64_t most = least[i];
    for (int64_t beyond = failed[i]; beyond - most > 1;) {
      point[i] = most + (beyond - most) / 2;
      (builds(point) ? most : beyond) = point[i];
    }
    for (size_t other = 0; most == least[i] && other < least.size(); ++other) {
      sizes::Point equal = least;
      equal[i] = equal[other] = most + 1;
      if (other != i && builds(equal))
        return llvm::formatv("`{0}` and `{1}` seem to be one size: join them with --dim {1}={0}",
                             sizes_[i].name, sizes_[other].name);
    }
    return llvm::formatv("`{0}` can be at most {1}: bound it with --dim {0}={2}..{1}",
                         sizes_[i].name, most, least[i]);
  }
  return llvm::formatv("fix a size, as in --dim {0}=8, or leave sizes out, as in --dim {0}=16..512",
                       sizes_.back().name);
}

} // namespace tg
