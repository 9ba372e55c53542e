// Parses, checks and instantiates, in that order; each step runs only if the one before had no
// errors.
#include "compiler/api/files/model.h"

#include "compiler/api/files/input_sizes.h"
#include "compiler/api/files/onnx_sizes.h"
#include "compiler/api/files/unfold.h"
#include "compiler/import/text/import_names.h"
#include "compiler/import/text/import_tidy.h"
#include "compiler/ir/open_check.h"
#include "lang/check/check.h"
#include "lang/check/size_range.h"
#include "lang/core/version.h"

#include <cstdlib>

namespace tg {

const ModuleLoader& library() {
  static const EmbeddedLoader loader = [] {
    const char* folder = std::getenv("TANGRAM_LIBRARY");
    return EmbeddedLoader(embedded_files(), folder ? folder : "");
  }();
  return loader;
}

Result<ModelSettings> read_settings(const ModelRequest& request) {
  ModelSettings settings;
  for (const auto& [name, text] : request.settings) {
    std::optional<Value> value = parse_setting(text);
    if (!value)
      return error(Code::usage, "`{0}` is not a compile-time value for `{1}`", text, name)
          .suggest("write values as in the language: 8, 0.5, true, relu, [1, 2]");
    settings[name] = *value;
  }
  return settings;
}

namespace {

Result<ModelSettings> settings_of(const Program& program, const ModelRequest& request) {
  TG_TRY(ModelSettings settings, read_settings(request));
  Result<FnRef> model = program.find_model(request.model);
  if (!model || !request.inputs || !has_ranges(program, *model)) return settings;
  TG_TRY(std::vector<InputTensor> inputs, request.inputs());
  TG_CHECK(add_input_sizes(program, *model, inputs, settings));
  return settings;
}

} // namespace

std::optional<Graph> build_graph(const Program& program, const ModelRequest& request,
                                 DiagnosticSink& sink) {
  if (sink.failed()) return std::nullopt;
  if (!check_names(program, sink)) return std::nullopt;
  Result<ModelSettings> settings = settings_of(program, request);
  if (!settings) {
    sink.report(settings.error());
    return std::nullopt;
  }
  std::optional<Graph> graph =
      instantiate(program, request.model, *settings, std::make_shared<Symbols>(), sink);
  if (!graph || sink.failed()) return std::nullopt;
#ifdef TG_VERIFY
  if (std::string fault = verify(*graph); !fault.empty()) {
    sink.report(
        error(Code::internal, "the graph of `{0}` is not well formed: {1}", graph->name(), fault));
    return std::nullopt;
  }
#endif
  return graph;
}

namespace {

/// Rejects options that do not apply to this kind of file.
Result<void> check_request(llvm::StringRef path, const ModelRequest& request) {
  if (request.shared) return {};
  if (!is_onnx_path(path)) {
    const onnx::ImportOptions& sizes = request.onnx_options;
    if (sizes.shapes.empty() && sizes.dims.empty() && sizes.named_shapes.empty() &&
        sizes.ranges.empty() && sizes.computed_dims.empty())
      return {};
    return error(Code::usage, "input sizes require an .onnx file, but `{0}` is not one", path)
        .suggest("set parameters of a .tg file with --set NAME=VALUE");
  }
  if (!request.settings.empty())
    return error(Code::usage, "`{0}` has no parameter `{1}`: it is an .onnx file", path,
                 request.settings[0].first)
        .suggest(
            "set a symbolic dimension with --dim NAME=N, a shape with --shape INPUT=1,3,224,224");
  if (!request.model.empty())
    return error(Code::usage, "an .onnx file has only one model: `{0}` has no model `{1}`", path,
                 request.model);
  return {};
}

/// Removes the settings that are not parameters of the model, and returns their names: "a parameter
/// `N`".
std::vector<std::string> leave_out(const Program& program, ModelRequest& request) {
  std::vector<std::string> names;
  Result<FnRef> model = program.find_model(request.model);
  if (!model) return names; // reported when the model is built
  std::vector<std::string> known = setting_names(program, *model);
  llvm::erase_if(request.settings, [&](const auto& setting) {
    bool unknown = !llvm::is_contained(known, setting.first);
    if (unknown) names.push_back("a parameter `" + setting.first + "`");
    return unknown;
  });
  return names;
}

std::vector<std::string> defaulted_sizes(const Program& program, const ModelRequest& request) {
  std::vector<std::string> sizes;
  Result<FnRef> model = program.find_model(request.model);
  if (!model) return sizes;
  const Ast& ast = program.module(*model).ast;
  for (const ast::Param& param : ast[program.decl(*model).params]) {
    std::optional<SizeRange> range = size_range(ast, param);
    bool set =
        llvm::any_of(request.settings, [&](const auto& s) { return s.first == param.name.text; });
    if (range && !set) sizes.push_back((param.name.text + " in " + range->text()).str());
  }
  return sizes;
}

/// Checks that the file, or the one beside it, has the weights' elements, by their types. Does not
/// read mapped data. Errors: those of ModelFile::elements().
Result<void> check_elements(const onnx::ModelFile& file,
                            llvm::ArrayRef<onnx::ImportedWeight> weights) {
  for (const onnx::ImportedWeight& weight : weights) TG_CHECK(file.elements(*weight.tensor));
  return {};
}

/// Converts the facts to another graph. Omits nodes with a value that no longer exists.
onnx::FileFacts moved(onnx::FileFacts facts, llvm::ArrayRef<NodeId> became) {
  auto move = [&](NodeId& value) {
    if (!value.valid()) return true;
    value = became[value.index];
    return value.valid();
  };
  llvm::erase_if(facts.origins, [&](onnx::Origin& origin) {
    bool stays = true;
    for (onnx::Origin::Input& input : origin.inputs) stays &= move(input.value);
    for (NodeId& result : origin.results) move(result);
    bool has_result = llvm::any_of(origin.results, [](NodeId result) { return result.valid(); });
    return !stays || !has_result;
  });
  return facts;
}

/// True if this version of Tangram wrote the file.
bool is_own(const onnx::schema::Model& model) {
  return model.producer_name() == onnx::kProducer && model.producer_version() == kProgramVersion;
}

/// Imports a file. Weights that the file records as folded stay weights.
std::optional<onnx::Imported> imported(std::shared_ptr<const onnx::ModelFile> file,
                                       onnx::ImportOptions options, DiagnosticSink& sink,
                                       std::vector<onnx::Refusal>* refused) {
  for (const onnx::schema::KeyValue& note : file->model().metadata_props())
    add_folded_paths(note.key(), note.value(), options.folded);
  std::optional<onnx::Imported> result =
      onnx::import_model(std::move(file), options, sink, refused);
  if (sink.failed()) return std::nullopt;
  return result;
}

/// Makes the readable model of an imported file. `own`: this version of Tangram wrote the file, and
/// no option changed its sizes.
std::optional<LoadedModel> readable(onnx::Imported imported, llvm::StringRef path, bool own,
                                    SourceManager& sources, DiagnosticSink& sink) {
#ifdef TG_VERIFY
  if (std::string fault = verify(imported.graph); !fault.empty()) {
    sink.report(error(Code::internal, "the graph of `{0}` is not well formed: {1}", path, fault));
    return std::nullopt;
  }
#endif
  std::optional<TidyGraph> tidy = tidied(imported.graph, imported.names, sources, library(), sink);
  if (!tidy) return std::nullopt;
  imported.graph = std::move(tidy->graph);
  imported.names = std::move(tidy->names);
  imported.graph.set_name(readable_model_name(imported.graph.name(), path));
  std::shared_ptr<const WeightFile> weights = weight_file(imported.file, imported.weights);
  std::shared_ptr<const KeptOperators> kept;
  if (imported.facts) {
    onnx::KeptNodes none{{}, Graph(imported.graph.shared_symbols()), {}};
    kept = std::make_shared<const KeptOperators>(
        KeptOperators{imported.kept ? std::move(*imported.kept) : std::move(none),
                      moved(std::move(*imported.facts), tidy->became), imported.graph,
                      own ? imported.file : nullptr, weights});
  }
  return LoadedModel{std::move(imported.graph),
                     std::move(weights),
                     std::move(imported.names),
                     imported.ops,
                     {},
                     std::move(kept),
                     std::move(imported.written_out),
                     std::move(imported.ranges),
                     {},
                     std::move(imported.decisions)};
}

/// Fixes open sizes as the inputs of a run have them, and others at their samples. Returns the
/// latter as text.
Result<std::vector<std::string>> fix_sizes(const onnx::ModelFile& file, const ModelRequest& request,
                                           onnx::ImportOptions& options) {
  std::vector<std::string> defaulted;
  if (!request.inputs && !request.sample_sizes) return defaulted;
  TG_TRY(std::vector<OpenSize> sizes, onnx_open_sizes(file, options));
  if (request.inputs && !sizes.empty()) {
    TG_TRY(std::vector<InputTensor> inputs, request.inputs());
    TG_CHECK(add_onnx_input_sizes(file, sizes, inputs, options));
  }
  if (!request.sample_sizes) return defaulted;
  for (const OpenSize& size : sizes) {
    if (!options.dims.try_emplace(size.name, size.sample).second) continue;
    defaulted.push_back(size.name + " = " + std::to_string(size.sample));
  }
  return defaulted;
}

} // namespace

std::optional<LoadedModel> load_model(SourceManager& sources, llvm::StringRef path,
                                      std::shared_ptr<const onnx::ModelFile> file,
                                      const ModelRequest& request, DiagnosticSink& sink,
                                      std::vector<onnx::Refusal>* refused) {
  onnx::ImportOptions options = request.onnx_options;
  std::vector<std::string> left_out;
  if (request.shared) {
    left_out = leave_out_sizes(file.get(), options);
    for (const auto& [name, text] : request.settings)
      left_out.push_back("a parameter `" + name + "`");
  }
  bool own = options.shapes.empty() && options.dims.empty() && is_own(file->model());
  Result<std::vector<std::string>> defaulted = fix_sizes(*file, request, options);
  if (!defaulted) {
    sink.report(std::move(defaulted.error()));
    return std::nullopt;
  }
  std::optional<onnx::Imported> made = imported(file, options, sink, refused);
  if (!made) return std::nullopt;
  if (Result<void> there = check_elements(*file, made->weights); !there) {
    sink.report(std::move(there.error()));
    return std::nullopt;
  }
  std::optional<LoadedModel> model = readable(std::move(*made), path, own, sources, sink);
  if (!model) return std::nullopt;
  model->left_out = std::move(left_out);
  model->defaulted_sizes = std::move(*defaulted);
  return model;
}

std::optional<LoadedModel> load_model(SourceManager& sources, llvm::StringRef path,
                                      const ModelRequest& request, DiagnosticSink& sink,
                                      std::vector<onnx::Refusal>* refused) {
  if (Result<void> fits = check_request(path, request); !fits) {
    sink.report(std::move(fits.error()));
    return std::nullopt;
  }
  if (is_onnx_path(path)) {
    Result<std::shared_ptr<const onnx::ModelFile>> file = onnx::ModelFile::open(path);
    if (file) return load_model(sources, path, std::move(*file), request, sink, refused);
    sink.report(std::move(file.error()));
    return std::nullopt;
  }
  Program program = load_program(sources, library(), path, sink);
  ModelRequest own = request;
  std::vector<std::string> left_out = leave_out_sizes(nullptr, own.onnx_options);
  if (request.shared && !sink.failed())
    for (std::string& name : leave_out(program, own)) left_out.push_back(std::move(name));
  std::optional<Graph> graph = build_graph(program, own, sink);
  if (!graph) return std::nullopt;
  LoadedModel loaded{std::move(*graph)};
  loaded.left_out = std::move(left_out);
  loaded.defaulted_sizes = defaulted_sizes(program, own);
  return loaded;
}

std::optional<LoadedModel> model_without_elements(std::shared_ptr<const onnx::ModelFile> file,
                                                  const onnx::ImportOptions& options) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<onnx::Imported> made = imported(std::move(file), options, sink, nullptr);
  if (!made) return std::nullopt;
  return readable(std::move(*made), "", false, sources, sink);
}

std::optional<Graph> load_model(SourceManager& sources, FileId file, const ModelRequest& request,
                                DiagnosticSink& sink) {
  return build_graph(load_program(sources, library(), file, sink), request, sink);
}

std::vector<std::string> open_inputs(llvm::StringRef path) {
  std::vector<std::string> open;
  if (!is_onnx_path(path)) return open;
  Result<std::shared_ptr<const onnx::ModelFile>> file = onnx::ModelFile::open(path);
  if (!file) return open;
  for (const onnx::schema::ValueInfo& input : (*file)->model().graph().input())
    if (llvm::any_of(input.type().tensor_type().shape().dim(),
                     [](const auto& dim) { return !dim.has_dim_value() || dim.dim_value() < 0; }))
      open.push_back(input.name());
  return open;
}

std::optional<Graph> load_graph(SourceManager& sources, llvm::StringRef path,
                                const ModelRequest& request, DiagnosticSink& sink) {
  std::optional<LoadedModel> model = load_model(sources, path, request, sink);
  if (!model) return std::nullopt;
  return std::move(model->graph);
}

} // namespace tg
