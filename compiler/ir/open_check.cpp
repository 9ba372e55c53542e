#include "compiler/ir/open_check.h"

#include "compiler/ir/eval/instantiation.h"
#include "lang/check/consteval.h"
#include "lang/check/size_range.h"

#include <llvm/ADT/StringExtras.h>

#include <deque>

namespace tg {

namespace {

using sizes::Condition;
using sizes::Interval;
using sizes::Point;
using sizes::Region;

/// A part of the ranges, in which `conditions` hold, and the answer from which it was divided.
struct SizePart {
  std::vector<Condition> conditions;
  SizeRun::Answer from;
};

class OpenCheck {
public:
  OpenCheck(const Program& program, FnRef model, DiagnosticSink& sink,
            const ModelSettings& settings)
      : program_(program), model_(model), sink_(sink), ast_(program.module(model).ast),
        settings_(settings), ranges_(ranges_of()), algebra_(names()) {}

  bool run() {
    std::deque<SizePart> left(1);
    for (size_t parts = 0; !left.empty(); ++parts) {
      SizePart part = std::move(left.front());
      left.pop_front();
      if (parts == kMaxSizeParts) return too_many(part.from);
      Region region(algebra_, box());
      for (const Condition& condition : part.conditions) region.assume(condition);
      std::optional<Point> sample = parts == 0 ? defaults(region) : region.member();
      if (!sample && region.empty()) continue;
      if (!sample) return unproved(part.from);
      if (!divide(part, std::move(region), *sample, left)) return false;
    }
    return true;
  }

private:
  std::vector<std::pair<const ast::Param*, SizeRange>> ranges_of() const {
    std::vector<std::pair<const ast::Param*, SizeRange>> out;
    for (const ast::Param& param : ast_[program_.decl(model_).params])
      if (std::optional<SizeRange> range = size_range(ast_, param);
          range && !settings_.count(param.name.text.str()))
        out.push_back({&param, *range});
    return out;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [param, range] : ranges_) out.push_back(param->name.text.str());
    return out;
  }

  std::vector<Interval> box() const {
    std::vector<Interval> out;
    for (const auto& [param, range] : ranges_) out.push_back({range.least, range.most});
    return out;
  }

  /// The sizes of a plain run, or another member if they depend on other parameters.
  std::optional<Point> defaults(const Region& region) const {
    Point point;
    for (const auto& [param, range] : ranges_) {
      std::optional<Value> size = fold_expr(
          ast_, param->default_value, [](const ast::Expr&) { return std::optional<Value>(); });
      if (!size || !size->is(Value::Kind::Int)) return region.member();
      point.push_back(size->number);
    }
    return point;
  }

  /// Instantiates at the sample, and adds the parts with other answers. Returns false after an
  /// error.
  bool divide(const SizePart& part, Region region, const Point& sample,
              std::deque<SizePart>& left) {
    ModelSettings settings = settings_;
    for (size_t i = 0; i < sample.size(); ++i)
      settings[algebra_.name(i)] = Value::of_int(sample[i]);
    DiagnosticSink found;
    Graph graph(std::make_shared<Symbols>(), program_.decl(model_).name.text.str());
    SizeRun run(algebra_, std::move(region), sample);
    bool good = eval::Instantiation(program_, graph, found, &run).model(model_, settings);
    for (Diagnostic d : found.all())
      sink_.report(std::move(d).note("for " + text_of(sample) + ", within " + all_ranges()));
    if (!good && !found.failed())
      sink_.report(error(Code::internal, "instantiation of `{0}` failed without saying why",
                         program_.decl(model_).name.text));
    if (!good || found.failed()) return false;
    std::vector<Condition> before = part.conditions;
    Region negating(algebra_, box());
    for (const SizeRun::Answer& answer : run.answers()) {
      if (!answer.fixes.empty() && !few(answer)) return fixes_size(answer);
      SizePart other{before, answer};
      other.conditions.push_back(negating.negated(answer.condition));
      left.push_back(std::move(other));
      before.push_back(answer.condition);
    }
    return true;
  }

  /// Returns true if the sizes in the condition have few values, which are checked one by one.
  bool few(const SizeRun::Answer& answer) const {
    std::vector<bool> used(ranges_.size());
    algebra_.sizes_in(answer.condition.of, used);
    for (size_t i = 0; i < used.size(); ++i) {
      const SizeRange& range = ranges_[i].second;
      constexpr auto kFew = static_cast<int64_t>(kMaxSizeParts);
      if (used[i] && (!range.most || *range.most - range.least >= kFew)) return false;
    }
    return true;
  }

  std::string text_of(const Point& sample) const {
    std::vector<std::string> out;
    for (size_t i = 0; i < sample.size(); ++i)
      out.push_back(algebra_.name(i) + " = " + std::to_string(sample[i]));
    return llvm::join(out, ", ");
  }

  std::string all_ranges() const {
    std::vector<std::string> out;
    for (const auto& [param, range] : ranges_)
      out.push_back((param->name.text + " in " + range.text()).str());
    return llvm::join(out, ", ");
  }

  bool report(Diagnostic d) {
    for (const auto& [param, range] : ranges_)
      d.labels.push_back({param->span, "a size with a range"});
    sink_.report(std::move(d));
    return false;
  }

  bool fixes_size(const SizeRun::Answer& answer) {
    std::string expr = answer.text.substr(0, answer.text.find(" == "));
    return report(error(Code::not_constant, answer.at,
                        "{0} requires a number, but `{1}` is not one number for all of {2}",
                        answer.fixes, expr, all_ranges())
                      .suggest("give the size a single value, or a range of at most " +
                               std::to_string(kMaxSizeParts) + " values"));
  }

  bool unproved(const SizeRun::Answer& answer) {
    return report(error(Code::dimension_mismatch, answer.at,
                        "`{0}` could not be proved for all of {1}", answer.text, all_ranges())
                      .note("no sizes were found for which it does not hold")
                      .suggest("state sizes by each other, as in f32[2 * S] and f32[S], or give "
                               "them narrower ranges"));
  }

  bool too_many(const SizeRun::Answer& answer) {
    return report(error(Code::dimension_mismatch, answer.at,
                        "the shapes differ in more than {0} ways for {1}; they depend on `{2}` "
                        "here",
                        kMaxSizeParts, all_ranges(), answer.text)
                      .suggest("narrow the ranges, or divide the model"));
  }

  const Program& program_;
  FnRef model_;
  DiagnosticSink& sink_;
  const Ast& ast_;
  const ModelSettings& settings_;
  std::vector<std::pair<const ast::Param*, SizeRange>> ranges_;
  sizes::Algebra algebra_;
};

} // namespace

bool has_ranges(const Program& program, FnRef model) {
  const Ast& ast = program.module(model).ast;
  return llvm::any_of(ast[program.decl(model).params],
                      [&](const ast::Param& param) { return param.range.valid(); });
}

bool check_open(const Program& program, FnRef model, DiagnosticSink& sink,
                const ModelSettings& settings) {
  return OpenCheck(program, model, sink, settings).run();
}

} // namespace tg
