// Program, check, instantiate, in that order; each step runs only if the one before found nothing.
#include "compiler/driver/files/model.h"

#include "lang/check/check.h"

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
      return error(Code::usage, "`{0}` is no compile-time value for `{1}`", text, name)
          .suggest("values are written as in the language: 8, 0.5, true, relu, [1, 2]");
    settings[name] = *value;
  }
  return settings;
}

std::optional<Graph> build_graph(const Program& program, const ModelRequest& request,
                                 DiagnosticSink& sink) {
  if (sink.failed()) return std::nullopt;
  Result<ModelSettings> settings = read_settings(request);
  if (!settings) {
    sink.report(settings.error());
    return std::nullopt;
  }
  if (!check_names(program, sink)) return std::nullopt;
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

std::optional<Graph> load_model(SourceManager& sources, llvm::StringRef path,
                                const ModelRequest& request, DiagnosticSink& sink) {
  return build_graph(load_program(sources, library(), path, sink), request, sink);
}

std::optional<Graph> load_model(SourceManager& sources, FileId file, const ModelRequest& request,
                                DiagnosticSink& sink) {
  return build_graph(load_program(sources, library(), file, sink), request, sink);
}

} // namespace tg
