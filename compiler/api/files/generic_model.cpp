#include "compiler/api/files/generic_model.h"

#include "compiler/import/text/import_text.h"
#include "compiler/ir/open_check.h"
#include "lang/check/check.h"
#include "lang/core/sizes/fit.h"

namespace tg {

namespace {

using sizes::Point;

class ModelFit {
public:
  ModelFit(const OpenModel& model, DiagnosticSink& sink, std::vector<onnx::Refusal>* refused,
           RewriteAt rewrite)
      : model_(model), sizes_(model.sizes()), sink_(sink), refused_(refused),
        rewrite_(std::move(rewrite)) {}

  std::optional<GenericModel> run() {
    std::vector<Point> points = all_points();
    // Polynomials show at few points. The others tell divisions apart.
    std::vector<Point> few = points;
    few.resize(std::min(few.size(), sizes::points_for_polynomials(sizes_.size())));
    for (const std::vector<Point>* chosen : {&few, &points}) {
      for (const Point& point : *chosen)
        if (!build(point)) return std::nullopt;
      Result<OpenGraph> fitted = fit_graph(sizes_, points_, graphs_, &sample_->names);
      if (fitted && !check_ends(*fitted)) return std::nullopt;
      if (fitted)
        return GenericModel{std::move(*sample_), std::move(*fitted), std::move(points_),
                            std::move(graphs_)};
      if (fitted.error().code == Code::not_constant && points_.size() < points.size()) continue;
      sink_.report(std::move(fitted.error()).suggest(advice(0)));
      return std::nullopt;
    }
    return std::nullopt;
  }

private:
  std::vector<Point> all_points() const {
    std::vector<sizes::Interval> ranges;
    std::vector<int64_t> samples;
    for (const OpenSize& size : sizes_) {
      ranges.push_back({size.range.least, size.range.most});
      samples.push_back(size.range.least);
    }
    std::vector<Point> points = sizes::fit_points(ranges, samples), typical;
    // Nothing is repeated along an axis of one element, and a slice of a table may be the whole
    // table at the end of a range. Graphs differ there, which check_ends() allows for.
    for (const Point& point : points) {
      bool at_end = false;
      for (size_t i = 0; i < point.size(); ++i)
        at_end |= point[i] <= 1 || point[i] == sizes_[i].range.most;
      if (!at_end) typical.push_back(point);
    }
    constexpr size_t kFewest = 4;
    return typical.size() < kFewest ? points : typical;
  }

  /// Checks the expressions and decisions at small sizes and at ends of the ranges, where they may
  /// differ from those of the points. The model need not exist there: check_generic_text() finds
  /// that.
  bool check_ends(const OpenGraph& fitted) {
    for (size_t i = 0; i < sizes_.size(); ++i)
      for (int64_t size : ends(sizes_[i].range)) {
        Point point = points_.front();
        point[i] = size;
        DiagnosticSink unused;
        std::optional<LoadedModel> model = model_at(point, unused, nullptr);
        if (!model) continue;
        if (!has_decisions(*model, point)) return false;
        Result<void> checked = check_at(fitted, point, model->graph, &sample_->names);
        if (checked) continue;
        sink_.report(std::move(checked.error()).suggest(advice(i)));
        return false;
      }
    return true;
  }

  static std::vector<int64_t> ends(const SizeRange& range) {
    constexpr int64_t kLarge = 521;
    std::vector<int64_t> sizes;
    for (int64_t size : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, int64_t{5}, int64_t{8},
                         range.least, range.most.value_or(kLarge)})
      if (range.contains(size) && !llvm::is_contained(sizes, size)) sizes.push_back(size);
    return sizes;
  }

  bool has_decisions(const LoadedModel& model, const Point& point) {
    if (model.decisions == sample_->decisions) return true;
    std::string one = "there are other branches";
    for (const std::string& decision : model.decisions)
      if (!llvm::is_contained(sample_->decisions, decision)) one = decision;
    sink_.report(error(Code::unsupported, "branches depend on sizes: {0} for {1}, but not for {2}",
                       one, text_of(sizes_, point), text_of(sizes_, points_.front()))
                     .suggest(advice(0)));
    return false;
  }

  /// Says how to leave a size out.
  std::string advice(size_t size) const {
    const std::string& name = sizes_[size].name;
    return llvm::formatv("fix the size, as in --dim {0}=8, or leave sizes out, as in --dim "
                         "{0}=16..512",
                         name);
  }

  std::optional<LoadedModel> model_at(const Point& point, DiagnosticSink& sink,
                                      std::vector<onnx::Refusal>* refused) const {
    std::optional<LoadedModel> model = model_.at(point, sink, refused);
    if (!model || !rewrite_) return model;
    Result<Graph> rewritten = rewrite_(model->graph);
    if (!rewritten) {
      sink.report(std::move(rewritten.error()));
      return std::nullopt;
    }
    model->graph = std::move(*rewritten);
    model->names.clear(); // of nodes before the rewriting
    return model;
  }

  bool build(const Point& point) {
    if (llvm::is_contained(points_, point)) return true;
    DiagnosticSink found;
    std::optional<LoadedModel> model = model_at(point, found, refused_);
    for (Diagnostic d : found.all()) {
      bool repeated = sample_ && d.severity != Severity::Error;
      if (d.help.empty() && d.severity == Severity::Error) d.help = model_.advice(point);
      if (!repeated)
        sink_.report(
            std::move(d).note("for " + text_of(sizes_, point) + ", within " + text_of(sizes_)));
    }
    if (!model) return false;
    if (sample_ && !has_decisions(*model, point)) return false;
    points_.push_back(point);
    graphs_.push_back(model->graph);
    if (!sample_) sample_ = std::move(model);
    return true;
  }

  const OpenModel& model_;
  llvm::ArrayRef<OpenSize> sizes_;
  DiagnosticSink& sink_;
  std::vector<onnx::Refusal>* refused_;
  RewriteAt rewrite_;
  std::optional<LoadedModel> sample_;
  std::vector<Point> points_;
  std::vector<Graph> graphs_;
};

} // namespace

Result<std::string> GenericModel::text() const {
  std::vector<GraphAt> checks;
  constexpr size_t kChecked = 3;
  for (size_t i = 0; i < points.size(); ++i)
    if (i == 0 || i + kChecked > points.size()) checks.push_back({points[i], &graphs[i]});
  return import_text(graph, checks, sample.names, library());
}

std::optional<GenericModel> fit_model(const OpenModel& model, DiagnosticSink& sink,
                                      std::vector<onnx::Refusal>* refused, RewriteAt rewrite) {
  return ModelFit(model, sink, refused, std::move(rewrite)).run();
}

bool check_generic_text(SourceManager& sources, const std::string& name, const std::string& text,
                        DiagnosticSink& sink) {
  Program program = load_program(sources, library(), sources.add(name, text), sink);
  if (sink.failed() || !check_names(program, sink)) return false;
  Result<FnRef> model = program.find_model("");
  return model && check_open(program, *model, sink);
}

} // namespace tg
