// Each step reports into the session's sink and hands its result on.
#include "compiler/driver/cli/pipeline.h"

#include "compiler/driver/cli/terminal/live_line.h"
#include "compiler/driver/files/onnx_export.h"
#include "compiler/driver/public_types.h"
#include "compiler/driver/verify/rule_trust.h"

namespace tg::cli {

std::optional<Graph> load(Session& session) {
  const Options& o = session.options;
  return load_model(session.sources, o.files.front(), {o.model, o.set}, session.sink);
}

namespace {

tangram::CompileOptions compile_options(const Options& o) {
  return {.backend = o.backend,
          .allow_tf32 = o.allow_tf32,
          .threads = static_cast<int>(o.threads),
          .memory_limit_mb = o.memory_limit_mb,
          .cost_db = o.cost_db,
          .seed = o.seed,
          .weights_file = o.weights};
}

} // namespace

PrepareOptions prepare_options(const Options& o) { return tg::run_options(compile_options(o)); }

Result<PrepareOptions> prepare_options(const Options& o, const Graph& model) {
  return tg::run_options(compile_options(o), model);
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

std::optional<OptimizedModel> optimize_model(Session& session, const Graph& source,
                                             OptimizeHost host) {
  tangram::OptimizeOptions options = session.options;
  options.rule_cache = rule_cache(session.options);
  host.stop = session.stop;
  host.isolated = true;
  host.plain = is_onnx_path(session.options.out_file);
  host.verifying = progress_line(session, "verifying rules");
  host.timing = progress_line(session, "timing operators");
  std::optional<LiveLine> line; // operators that are timed have one of their own
  host.searching = [&](double time_limit_s, bool timed) {
    return line.emplace(session, time_limit_s, !timed).listener();
  };
  host.searched = [&] { line.reset(); };
  if (!session.options.trace.empty())
    host.traced = [&](llvm::StringRef trace) {
      return write_text_file(session, session.options.trace, trace);
    };
  return tg::optimize_model(source, options, nullptr, host, session.sources, session.sink);
}

std::optional<LoadedAndOptimized> load_and_optimize(Session& session) {
  session.interruptible = std::make_unique<Interruptible>();
  std::optional<Graph> source = load(session);
  if (!source) return std::nullopt;
  std::optional<OptimizedModel> best = optimize_model(session, *source);
  if (!best) return std::nullopt;
  return LoadedAndOptimized{std::move(*source), std::move(*best)};
}

} // namespace tg::cli
