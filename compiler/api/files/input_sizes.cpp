#include "compiler/api/files/input_sizes.h"

#include "lang/check/consteval.h"
#include "lang/check/resolve.h"
#include "lang/check/size_range.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringMap.h>

#include <algorithm>
#include <map>

namespace tg {

namespace {

class InputSizes {
public:
  InputSizes(const Program& program, FnRef model, ModelSettings& settings)
      : sources_(*program.sources), ast_(program.module(model).ast), model_(program.decl(model)),
        settings_(settings) {
    for (const ast::Param& param : ast_[model_.params]) {
      if (std::optional<SizeRange> range = size_range(ast_, param)) open_[param.name.text] = *range;
      bool number = param.type && param_kind(ast_, ast_[param.type]).base == ParamKind::Base::Int;
      if (number) params_.push_back(&param);
    }
    for (const auto& [name, value] : settings)
      if (value.is(Value::Kind::Int)) known_[name] = {value.number, "", true};
  }

  Result<void> run(llvm::ArrayRef<InputTensor> inputs) {
    for (const ast::Param& param : ast_[model_.params])
      if (param.type) collect(param.type, param.name.text.str(), inputs);
    for (const Place& place : places_)
      if (ast_[place.dim].kind == ast::ExprKind::Name) TG_CHECK(bind(ast_[place.dim].text, place));
    for (const Place& place : places_) TG_CHECK(solve(place));
    for (const Place& place : places_) TG_CHECK(compare(place));
    for (const auto& [name, found] : known_)
      if (open_.count(name) && !found.set) settings_[name.str()] = Value::of_int(found.size);
    return {};
  }

private:
  /// A written dimension, and its size in a tensor.
  struct Place {
    ast::ExprId dim;
    int64_t size = 0;
    std::string text; // "dimension 1 of the input `x` (x.npy)"
  };
  struct Found {
    int64_t size = 0;
    std::string place;
    bool set = false; // by the settings
  };

  void collect(ast::TypeRef ref, const std::string& name, llvm::ArrayRef<InputTensor> inputs) {
    const ast::Type& type = ast_[ref];
    size_t number = 0;
    for (ast::TypeRef part : ast_[type.parts]) // as deep as brackets nest
      collect(part, name + "_" + std::to_string(number++), inputs);
    auto given = llvm::find_if(inputs, [&](const InputTensor& t) { return t.name == name; });
    if (given == inputs.end() || !type.parts.empty()) return;
    llvm::ArrayRef<ast::ExprId> dims = ast_[type.dims];
    auto spread = llvm::find_if(
        dims, [&](ast::ExprId dim) { return ast_[dim].kind == ast::ExprKind::Spread; });
    auto rank = static_cast<size_t>(given->type.rank());
    bool fits = spread == dims.end() ? rank == dims.size() : rank + 1 >= dims.size();
    for (size_t i = 0; fits && i < dims.size(); ++i) {
      auto before = static_cast<size_t>(spread - dims.begin());
      if (i == before) continue;
      size_t axis = i < before ? i : rank + i - dims.size();
      places_.push_back(
          {dims[i], given->type[axis],
           llvm::formatv("dimension {0} of the input `{1}` ({2})", axis, name, given->file)});
    }
  }

  Result<void> bind(llvm::StringRef name, const Place& place) {
    auto range = open_.find(name);
    if (range == open_.end()) return {};
    auto [at, fresh] = known_.try_emplace(name, Found{place.size, place.text, false});
    const Found& found = at->second;
    if (found.size != place.size && found.set)
      return error(Code::bad_input_value, "`{0}` is set to {1}, but {2} is {3}", name, found.size,
                   place.text, place.size);
    if (found.size != place.size)
      return error(Code::bad_input_value, "`{0}` is {1} in {2}, but {3} in {4}", name, found.size,
                   found.place, place.size, place.text);
    if (!range->second.contains(place.size))
      return error(Code::bad_input_value, "`{0}` must be in {1}, but {2} is {3}", name,
                   range->second.text(), place.text, place.size);
    return {};
  }

  /// The value of a name: set, found in an input, or a default that is a number.
  std::optional<Value> value(llvm::StringRef name) const {
    if (auto found = known_.find(name); found != known_.end())
      return Value::of_int(found->second.size);
    if (open_.count(name)) return std::nullopt;
    for (const ast::Param* param : params_)
      if (param->name.text == name && param->default_value)
        return fold_expr(ast_, param->default_value,
                         [](const ast::Expr&) { return std::optional<Value>(); });
    return std::nullopt;
  }

  std::optional<int64_t> evaluate(ast::ExprId dim) const {
    std::optional<Value> v =
        fold_expr(ast_, dim, [&](const ast::Expr& name) { return value(name.text); });
    return v && v->is(Value::Kind::Int) ? std::optional(v->number) : std::nullopt;
  }

  /// Adds the names in an expression that have no value yet.
  void unknown_names(ast::ExprId id, std::vector<llvm::StringRef>& out) const {
    const ast::Expr& e = ast_[id];
    bool unknown = e.kind == ast::ExprKind::Name && open_.count(e.text) && !known_.count(e.text);
    if (unknown && !llvm::is_contained(out, e.text)) out.push_back(e.text);
    for_each_child(ast_, id, [&](ast::ExprId child) { unknown_names(child, out); });
  }

  /// Finds the one size for which a computed dimension, such as `2 * S`, fits.
  Result<void> solve(const Place& place) {
    std::vector<llvm::StringRef> unknown;
    unknown_names(place.dim, unknown);
    if (unknown.size() != 1 || ast_[place.dim].kind == ast::ExprKind::Name) return {};
    constexpr int64_t kTried = 1 << 20;
    llvm::StringRef name = unknown[0];
    const SizeRange range = open_.lookup(name);
    int64_t last = std::min(range.most.value_or(INT64_MAX), range.least + kTried);
    std::vector<int64_t> fitting;
    for (int64_t n = range.least; n <= last && fitting.size() < 2; ++n) {
      known_[name] = {n, place.text, false};
      if (evaluate(place.dim) == place.size) fitting.push_back(n);
    }
    known_.erase(name);
    llvm::StringRef written = sources_.text(ast_[place.dim].span);
    if (fitting.empty())
      return error(Code::bad_input_value, "{0} is {1}, but `{2}` is not {1} for any {3} in {4}",
                   place.text, place.size, written, name, range.text());
    if (fitting.size() > 1)
      return error(Code::bad_input_value, "{0} is {1}, which is `{2}` for more than one {3}",
                   place.text, place.size, written, name)
          .suggest(llvm::formatv("set it: --set {0}={1}", name, fitting[0]));
    known_[name] = {fitting[0], place.text, false};
    return {};
  }

  Result<void> compare(const Place& place) const {
    if (ast_[place.dim].kind == ast::ExprKind::Name) return {}; // bound, or not open
    std::optional<int64_t> size = evaluate(place.dim);
    if (!size || *size == place.size) return {};
    Diagnostic d = error(Code::bad_input_value, "{0} is {1}, but `{2}` is {3}", place.text,
                         place.size, sources_.text(ast_[place.dim].span), *size);
    for (const auto& [name, found] : known_)
      d.notes.push_back(
          found.set ? llvm::formatv("{0} is set to {1}", name, found.size).str()
                    : llvm::formatv("{0} is {1} in {2}", name, found.size, found.place).str());
    return d;
  }

  const SourceManager& sources_;
  const Ast& ast_;
  const ast::Decl& model_;
  ModelSettings& settings_;
  llvm::StringMap<SizeRange> open_;
  std::vector<const ast::Param*> params_; // of kind int
  std::map<llvm::StringRef, Found> known_;
  std::vector<Place> places_;
};

} // namespace

Result<void> add_input_sizes(const Program& program, FnRef model,
                             llvm::ArrayRef<InputTensor> inputs, ModelSettings& settings) {
  return InputSizes(program, model, settings).run(inputs);
}

} // namespace tg
