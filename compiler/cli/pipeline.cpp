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

/// Parses "1,3,224,224", or "1,S,64" with names of open sizes.
bool read_shape(const std::string& name, llvm::StringRef text, onnx::ImportOptions& sizes) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  if (!text.trim().empty()) text.split(parts, ','); // the empty text is the shape of a scalar
  std::vector<int64_t> numbers;
  std::vector<std::string> words;
  bool named = false;
  for (llvm::StringRef part : parts) {
    words.push_back(part.trim().str());
    bool number = !part.trim().getAsInteger(10, numbers.emplace_back());
    bool word = !words.back().empty() && !llvm::isDigit(words.back()[0]) &&
                llvm::all_of(words.back(), [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!number && !word) return false;
    named |= !number;
  }
  if (named)
    sizes.named_shapes[name] = std::move(words);
  else
    sizes.shapes[name] = std::move(numbers);
  return true;
}

/// Parses "1..2048" or "1..".
std::optional<sizes::Interval> read_range(llvm::StringRef text) {
  auto [first, last] = text.split("..");
  sizes::Interval range;
  int64_t most = 0;
  if (!text.contains("..") || first.getAsInteger(10, range.least)) return std::nullopt;
  if (last.empty()) return range;
  if (last.getAsInteger(10, most)) return std::nullopt;
  range.most = most;
  return range;
}

/// Parses "8", "1..512" or "past + 1".
Result<void> read_dim(const std::string& name, llvm::StringRef text, onnx::ImportOptions& sizes) {
  int64_t size = 0;
  if (!text.getAsInteger(10, size)) {
    sizes.dims[name] = size;
    return {};
  }
  if (std::optional<sizes::Interval> range = read_range(text)) {
    if (range->least >= 0 && !range->empty()) {
      sizes.ranges[name] = *range;
      return {};
    }
    return error(Code::usage, "`--dim {0}={1}`: the range has no sizes, or negative ones", name,
                 text);
  }
  if (text.find_first_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") !=
      llvm::StringRef::npos) {
    sizes.computed_dims[name] = text.str();
    return {};
  }
  return error(Code::usage, "`--dim` requires a size, as in `{0}=8`, not `{1}`", name, text)
      .suggest(llvm::formatv("a range is written {0}=1..512, a sum of other dimensions "
                             "{0}=past+1",
                             name));
}

/// Parses --shape and --dim.
Result<onnx::ImportOptions> read_sizes(const Options& o) {
  onnx::ImportOptions sizes;
  for (const auto& [name, text] : o.shapes) {
    if (sizes.shapes.count(name) || sizes.named_shapes.count(name))
      return error(Code::usage, "`--shape {0}=` is given twice", name);
    if (!read_shape(name, text, sizes))
      return error(Code::usage, "`--shape` requires sizes, as in `{0}=1,3,224,224`, not `{1}`",
                   name, text)
          .suggest("`--shape NAME=` is the shape of a scalar");
  }
  for (const auto& [name, text] : o.dims) {
    bool fresh =
        !sizes.dims.count(name) && !sizes.ranges.count(name) && !sizes.computed_dims.count(name);
    if (!fresh) return error(Code::usage, "`--dim {0}=` is given twice", name);
    TG_CHECK(read_dim(name, text, sizes));
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
  request.sample_sizes = o.command == CommandId::Run;
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
  bool silent = session.options.quiet || session.options.json;
  bool is_default = !is_onnx_path(path) && session.options.command == CommandId::Run;
  if (model && !model->defaulted_sizes.empty() && !silent && !is_default)
    session.err << "note: the sizes " << llvm::join(model->defaulted_sizes, ", ")
                << " have their defaults here; set others with "
                << (is_onnx_path(path) ? "--dim" : "--set") << "\n";
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
