#include "compiler/ir/eval/value.h"

#include "lang/check/consteval.h"
#include "lang/check/resolve.h"

namespace tg::eval {

Val Val::of(NodeId node) {
  Val v;
  v.kind = Kind::Tensor;
  v.node = node;
  return v;
}

Val Val::of(Value value) {
  std::vector<Val> items;
  for (int64_t n : value.ints) items.push_back(of(Value::of_int(n)));
  for (double x : value.reals) items.push_back(of(Value::of_float(x)));
  if (value.is(Value::Kind::Ints) || value.is(Value::Kind::Floats)) return list(std::move(items));
  Val v;
  v.kind = Kind::Const;
  v.value = std::move(value);
  return v;
}

Val Val::of(const Size& size) {
  Val v = of(Value::of_int(size.sample()));
  if (!size.open()) return v;
  v.kind = Kind::Open;
  v.size = size;
  v.run = size.run();
  return v;
}

Val Val::of(llvm::ArrayRef<Size> sizes) {
  std::vector<Val> items;
  for (const Size& size : sizes) items.push_back(of(size));
  return list(std::move(items));
}

Val Val::open_float(double real, SizeRun* run, const Size& positive_with) {
  Val v = of(Value::of_float(real));
  v.kind = Kind::Open;
  v.size = positive_with;
  v.run = run;
  return v;
}

Val Val::list(std::vector<Val> items, Kind kind) {
  Val v;
  v.kind = kind;
  v.items = std::move(items);
  for (const Val& item : v.items) {
    v.depth = std::max(v.depth, item.depth + 1);
    v.extent += item.extent;
  }
  return v;
}

Val Val::unit() {
  Val v;
  v.kind = Kind::Unit;
  return v;
}

Binding* Frame::find(llvm::StringRef name) {
  auto it = by_name.find(name);
  return it == by_name.end() || it->second.empty() ? nullptr : &bindings[it->second.back()];
}

void Frame::bind(llvm::StringRef name, Val val, Bound how, Span span) {
  if (name.empty() || name == "_") return;
  by_name[name].push_back(static_cast<uint32_t>(bindings.size()));
  bindings.push_back({name, std::move(val), how, span});
}

void Frame::unwind(size_t mark) {
  while (bindings.size() > mark) {
    by_name[bindings.back().name].pop_back();
    bindings.pop_back();
  }
}

std::optional<llvm::SmallVector<Size, 6>> as_sizes(const Val& val) {
  llvm::SmallVector<Size, 6> sizes;
  if (!val.is(Val::Kind::List) && !val.is(Val::Kind::Tuple)) return std::nullopt;
  for (const Val& item : val.items) {
    if (!item.integer()) return std::nullopt;
    sizes.push_back(item.as_size());
  }
  return sizes;
}

Val settled(Val val) {
  for (Val& item : val.items) item = settled(std::move(item)); // no deeper than kMaxListDepth
  if (!val.is(Val::Kind::Open)) return val;
  if (val.value.is(Value::Kind::Int))
    (void)val.size.fixed();
  else
    val.run->fix_all();
  return Val::of(std::move(val.value));
}

std::optional<Value> as_value(const Val& written) {
  Val val = settled(written);
  if (val.is(Val::Kind::Const)) return val.value;
  if (auto sizes = as_sizes(val)) return OpenValue::of_ints(*sizes).sample();
  std::vector<double> reals;
  for (const Val& item : val.items)
    if (item.is(Val::Kind::Const) && is_number(item.value)) reals.push_back(as_real(item.value));
  bool numbers = val.is(Val::Kind::List) && reals.size() == val.items.size();
  return numbers ? std::optional(Value::of_floats(std::move(reals))) : std::nullopt;
}

Val resolve_word(const Frame& frame, ast::ExprId written, Val val) {
  const ast::Expr& e = frame.ast[written];
  if (!val.is(Val::Kind::Tensor) || e.kind != ast::ExprKind::Name) return val;
  std::optional<Value> word = constant_of_name(e.text);
  return word && word->is(Value::Kind::Enum) ? Val::of(std::move(*word)) : val;
}

} // namespace tg::eval
