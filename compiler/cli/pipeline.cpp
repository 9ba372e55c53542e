// Each step reports errors to the session's sink and returns its result.
#include "compiler/cli/pipeline.h"

#include "compiler/api/files/onnx_export.h"
#include "compiler/api/public_types.h"
#include "compiler/api/verify/rule_trust.h"
#include "compiler/cli/commands/run_files.h"
#include "compiler/cli/options/program.h"
#include "compiler/cli/terminal/live_line.h"

#include <llvm/ADT/StringExtras.h>

#include <type_traits>

namespace tg::cli {

namespace {

/// Parses "1,3,224,224".
std::optional<std::vector<int64_t>> read_shape(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  if (!text.trim().empty()) text.split(parts, ','); // the empty text is the shape of a scalar
  std::vector<int64_t> sizes;
  for (llvm::StringRef part : parts)
    if (part.trim().getAsInteger(10, sizes.emplace_back())) return std::nullopt;
  return sizes;
}

/// Parses --shape and --dim.
Result<onnx::ImportOptions> read_sizes(const Options& o) {
  onnx::ImportOptions sizes;
  for (const auto& [name, text] : o.shapes) {
    std::optional<std::vector<int64_t>> shape = read_shape(text);
    if (!shape)
      return error(Code::usage, "`--shape` requires sizes, as in `{0}=1,3,224,224`, not `{1}`",
                   name, text)
          .suggest("`--shape NAME=` is the shape of a scalar");
    if (!sizes.shapes.try_emplace(name, std::move(*shape)).second)
      return error(Code::usage, "`--shape {0}=` is given twice", name);
  }
  for (const auto& [name, text] : o.dims) {
    int64_t size = 0;
    if (llvm::StringRef(text).getAsInteger(10, size))
      return error(Code::usage, "`--dim` requires a size, as in `{0}=8`, not `{1}`", name, text);
    if (!sizes.dims.try_emplace(name, size).second)
      return error(Code::usage, "`--dim {0}=` is given twice", name);
  }
  return sizes;
}

/// Returns ImportOptions::keep_for: the newest opset of the ONNX file that the command writes, or 0
/// if it writes none.
int keep_for(const Options& o) {
  bool writes = o.command == CommandId::Opt || o.command == CommandId::Import ||
                o.command == CommandId::Export;
  if (!writes || !is_onnx_path(o.out_file)) return 0;
  return newest_opset(static_cast<int>(o.opset));
}

} // namespace

Result<ModelRequest> model_request(const Options& o) {
  TG_TRY(onnx::ImportOptions options, read_sizes(o));
  options.keep_for = keep_for(o);
  ModelRequest request{o.model, o.set, std::move(options)};
  if (o.command == CommandId::Run && !o.inputs.empty())
    request.inputs = [&o] { return input_types(o); };
  return request;
}

std::optional<LoadedModel> load(Session& session, const std::string& path, bool shared) {
  Result<ModelRequest> request = model_request(session.options);
  if (!request) {
    session.sink.report(std::move(request.error()));
    return std::nullopt;
  }
  request->shared = shared;
  std::optional<LoadedModel> model = load_model(session.sources, path, *request, session.sink);
  bool at_any_size =
      session.options.command == CommandId::Run || session.options.quiet || session.options.json;
  if (model && !model->defaulted_sizes.empty() && !at_any_size)
    session.err << "note: the sizes " << llvm::join(model->defaulted_sizes, ", ")
                << " have their defaults here; set others with --set\n";
  return model;
}

std::optional<LoadedModel> load(Session& session) {
  return load(session, session.options.files.front());
}

namespace {

tangram::CompileOptions compile_options(const Options& o) {
  return {.backend = o.backend,
          .allow_tf32 = o.allow_tf32,
          .recompute = o.recompute / 100,
          .threads = static_cast<int>(o.threads),
          .memory_limit_mb = o.memory_limit_mb,
          .cost_db = o.cost_db,
          .tune_near_ms = o.tune_near_ms,
          .seed = o.seed,
          .weights_file = o.weights};
}

} // namespace

PrepareOptions prepare_options(const Options& o) { return tg::run_options(compile_options(o)); }

Result<PrepareOptions> prepare_options(const Options& o, const LoadedModel& model) {
  return tg::run_options(compile_options(o), model.graph, model.weights);
}

std::function<void(size_t, size_t)> progress_line(Session& session, const char* what) {
  if (session.options.quiet || session.options.json || !session.color) return {};
  return [&err = session.err, what](size_t done, size_t total) {
    err << "\r\x1b[K" << what << ": " << done << " of " << total;
    if (done == total) err << "\r\x1b[K";
    err.flush();
  };
}

std::string rule_cache(const Options& o) {
  return o.rule_cache.empty() ? default_rule_cache() : o.rule_cache;
}

namespace {

/// Runs an optimisation with the options and the host of the session.
template <class Run> auto run_optimization(Session& session, OptimizeHost host, Run run) {
  using Out = std::invoke_result_t<Run, const tangram::OptimizeOptions&, OptimizeHost>;
  tangram::OptimizeOptions options = session.options;
  options.rule_cache = rule_cache(session.options);
  if (program_tables().prepare)
    if (auto prepared = program_tables().prepare(session.options, options); !prepared) {
      session.sink.report(std::move(prepared.error()));
      return Out();
    }
  host.stop = session.stop;
  host.isolated = true;
  options.portable = is_onnx_path(session.options.out_file);
  host.verifying = progress_line(session, "verifying rules");
  host.timing = progress_line(session, "timing operators");
  std::optional<LiveLine> line; // timed operators have a line of their own
  host.searching = [&](double time_limit_s, bool timed) {
    return line.emplace(session, time_limit_s, !timed).listener();
  };
  host.searched = [&] { line.reset(); };
  if (!session.options.trace.empty())
    host.traced = [&](llvm::StringRef trace) {
      return write_text_file(session, session.options.trace, trace);
    };
  return run(options, std::move(host));
}

} // namespace

std::optional<OptimizedModel> optimize_model(Session& session, const Graph& source,
                                             OptimizeHost host) {
  return run_optimization(session, std::move(host), [&](const auto& options, OptimizeHost own) {
    return tg::optimize_model(source, options, nullptr, own, session.sources, session.sink);
  });
}

namespace {

/// Opens the model of the command line.
std::optional<OpenModel> open(Session& session) {
  Result<ModelRequest> request = model_request(session.options);
  if (request)
    return OpenModel::open(session.sources, session.options.files.front(), std::move(*request),
                           session.sink);
  session.sink.report(std::move(request.error()));
  return std::nullopt;
}

} // namespace

std::optional<LoadedAndOptimized> load_and_optimize(Session& session) {
  session.interruptible = std::make_unique<Interruptible>();
  std::optional<OpenModel> model = open(session);
  if (!model) return std::nullopt;
  if (model->is_open()) {
    if (!model->check(session.sink)) return std::nullopt;
    std::optional<SizesOptimized> best =
        run_optimization(session, {}, [&](const auto& options, OptimizeHost host) {
          return optimize_sizes(*model, options, nullptr, std::move(host), session.sources,
                                session.sink);
        });
    if (!best) return std::nullopt;
    return LoadedAndOptimized{std::move(best->source), std::move(best->best), std::move(model),
                              std::move(best->recipes)};
  }
  std::optional<LoadedModel> source = load(session);
  if (!source) return std::nullopt;
  std::optional<OptimizedModel> best =
      optimize_model(session, source->graph, {.weights = source->weights, .kept = source->kept});
  if (!best) return std::nullopt;
  return LoadedAndOptimized{std::move(*source), std::move(*best)};
}

} // namespace tg::cli
