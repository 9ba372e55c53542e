// See extern_signature.h. The reader reads words and signs once, with one token of lookahead.
#include "lang/core/extern_signature.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/FormatVariadic.h>

#include <climits>
#include <utility>

namespace tg {

namespace {

constexpr int kAtom = INT_MAX; // names and numbers need no parentheses

bool is_prefix(ConstOp op) { return op == ConstOp::Neg || op == ConstOp::Not; }

std::optional<ConstOp> operator_of(llvm::StringRef word) {
  if (word == ExternSignature::kNegate) return ConstOp::Neg;
  return const_sign(word, word == "not");
}

} // namespace

// --- reading ------------------------------------------------------------------------------------

class ExternSignatureReader {
public:
  explicit ExternSignatureReader(llvm::StringRef text) : rest_(text) { token_ = scan(); }

  std::optional<ExternSignature> run() {
    ExternSignature out;
    if (!take("(")) return std::nullopt;
    while (!take(")")) {
      if (!out.operands_.empty() && !take(",")) return std::nullopt;
      if (!type(out.operands_.emplace_back())) return std::nullopt;
    }
    if (!take("->") || !type(out.result_)) return std::nullopt;
    if (take("where")) {
      do
        if (!expr(out.where_.emplace_back())) return std::nullopt;
      while (take(","));
    }
    if (!token_.empty() || !out.well_bound()) return std::nullopt;
    return out;
  }

private:
  /// Returns the next word, number or sign; "" at the end.
  llvm::StringRef scan() {
    rest_ = rest_.ltrim();
    auto in_word = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    llvm::StringRef token = rest_.take_while(in_word);
    if (token.empty() && rest_.startswith("...")) token = rest_.take_front(3);
    if (token.empty() && !rest_.empty() && llvm::StringRef("()[],").contains(rest_[0]))
      token = rest_.take_front(1);
    if (token.empty())
      token = rest_.take_until([](char c) { return llvm::isSpace(c) || c == ',' || c == ']'; });
    rest_ = rest_.drop_front(token.size());
    return token;
  }

  llvm::StringRef next() { return std::exchange(token_, scan()); }

  bool take(llvm::StringRef token) {
    if (token_ != token) return false;
    next();
    return true;
  }

  static bool is_name(llvm::StringRef token) {
    return !token.empty() && (llvm::isAlpha(token[0]) || token[0] == '_') && !operator_of(token) &&
           token != "where";
  }

  bool type(ExternSignature::Type& out) {
    llvm::StringRef name = next();
    if (!is_name(name)) return false;
    out.dtype = name.str();
    if (take("[")) {
      while (!take("]")) {
        if (!out.dims.empty() && !take(",")) return false;
        if (!dim(out.dims.emplace_back())) return false;
      }
    }
    out.text = out.dtype + "[";
    for (const ExternSignature::Dim& dim : out.dims) {
      out.text += &dim == &out.dims[0] ? "" : ", ";
      out.text += dim.kind == ExternSignature::Dim::Kind::Any      ? "_"
                  : dim.kind == ExternSignature::Dim::Kind::Spread ? dim.name + "..."
                                                                   : dim.value.text;
    }
    out.text += "]";
    return true;
  }

  bool dim(ExternSignature::Dim& out) {
    if (take("_")) return out.kind = ExternSignature::Dim::Kind::Any, true;
    if (!expr(out.value)) return false;
    if (!take("...")) return true;
    out.kind = ExternSignature::Dim::Kind::Spread;
    out.name = out.value.bare() ? out.value.postfix[0].name : "";
    return !out.name.empty();
  }

  bool expr(ExternSignature::Expr& out) {
    using Item = ExternSignature::Item;
    size_t values = 0;
    for (int64_t number = 0;;) {
      if (!token_.getAsInteger(10, number)) {
        out.postfix.push_back({Item::Kind::Number, number, {}, {}});
        ++values;
      } else if (is_name(token_)) {
        out.postfix.push_back({Item::Kind::Name, 0, token_.str(), {}});
        ++values;
      } else if (std::optional<ConstOp> op = operator_of(token_)) {
        if (values < (is_prefix(*op) ? 1 : 2)) return false;
        values -= is_prefix(*op) ? 0 : 1;
        out.postfix.push_back({Item::Kind::Operator, 0, {}, *op});
      } else {
        break;
      }
      next();
    }
    if (values == 1) out.text = ExternSignature::infix(out.postfix);
    return values == 1;
  }

  llvm::StringRef rest_;  // after token_
  llvm::StringRef token_; // the next token; "" at the end
};

std::optional<ExternSignature> ExternSignature::parse(llvm::StringRef text) {
  return ExternSignatureReader(text).run();
}

/// Converts to infix with the parentheses that the language needs.
std::string ExternSignature::infix(llvm::ArrayRef<Item> postfix) {
  std::vector<std::pair<std::string, int>> open; // text and binding strength of its last operator
  auto take = [&](int least) {
    auto [text, binds] = std::move(open.back());
    open.pop_back();
    return binds < least ? "(" + text + ")" : text;
  };
  for (const Item& item : postfix) {
    if (item.kind == Item::Kind::Number) {
      open.push_back({std::to_string(item.number), kAtom});
    } else if (item.kind == Item::Kind::Name) {
      open.push_back({item.name, kAtom});
    } else {
      int binds = const_strength(item.op);
      std::string sign = const_op_name(item.op).str();
      bool from_right = item.op == ConstOp::Pow, alone = binds == 4; // comparisons do not chain
      std::string right = take(from_right ? binds : binds + 1 - is_prefix(item.op));
      if (is_prefix(item.op)) {
        open.push_back({sign + (item.op == ConstOp::Not ? " " : "") + right, binds});
        continue;
      }
      std::string left = take(binds + (from_right || alone));
      open.push_back({left + " " + sign + " " + right, binds});
    }
  }
  return open.back().first;
}

/// Returns true if the result and all computed sizes use only names that operands bind,
/// and no type has two parts of unknown length.
bool ExternSignature::well_bound() const {
  llvm::StringMap<bool> sizes, shapes, dtypes;
  for (const Type& type : operands_) {
    dtypes[type.dtype] = true;
    for (const Dim& dim : type.dims) {
      if (dim.kind == Dim::Kind::Spread) shapes[dim.name] = true;
      if (dim.binds()) sizes[dim.bound_name()] = true;
    }
  }
  auto known = [&](const Expr& e) {
    return llvm::all_of(e.postfix, [&](const Item& item) {
      return item.kind != Item::Kind::Name || sizes.count(item.name);
    });
  };
  auto dims_known = [&](const Type& type, bool result) {
    size_t spreads = 0;
    for (const Dim& dim : type.dims) {
      if (dim.kind == Dim::Kind::Any && result) return false;
      if (dim.kind == Dim::Kind::Value && !known(dim.value)) return false;
      if (dim.kind == Dim::Kind::Spread && (++spreads > 1 || !shapes.count(dim.name))) return false;
    }
    return true;
  };
  bool dtype_known = parse_dtype(result_.dtype) || dtypes.count(result_.dtype);
  return dtype_known && !operands_.empty() && dims_known(result_, true) &&
         llvm::all_of(operands_, [&](const Type& type) { return dims_known(type, false); }) &&
         llvm::all_of(where_, known);
}

std::string ExternSignature::declaration(llvm::StringRef name) const {
  std::string text = "extern op " + name.str() + "(";
  for (size_t i = 0; i < operands_.size(); ++i)
    text += (i ? ", x" : "x") + std::to_string(i) + ": " + operands_[i].text;
  text += ") -> " + result_.text;
  for (size_t i = 0; i < where_.size(); ++i) text += (i ? ", " : " where ") + where_[i].text;
  return text;
}

// --- typing -------------------------------------------------------------------------------------

class ExternSignatureBinder {
  using Type = ExternSignature::Type;
  using Dim = ExternSignature::Dim;
  using Item = ExternSignature::Item;

public:
  ExternSignatureBinder(const ExternSignature& signature, std::string& why)
      : signature_(signature), why_(why) {}

  bool run(llvm::ArrayRef<TensorType> operands, TensorType& result) {
    if (operands.size() != signature_.operands_.size())
      return fail(llvm::formatv("it takes {0} operand{1}, got {2}", signature_.operands_.size(),
                                signature_.operands_.size() == 1 ? "" : "s", operands.size()));
    for (size_t i = 0; i < operands.size(); ++i)
      if (!bind(signature_.operands_[i], operands[i])) return false;
    for (size_t i = 0; i < operands.size(); ++i)
      if (!check_computed(signature_.operands_[i], operands[i])) return false;
    for (const ExternSignature::Expr& condition : signature_.where_) {
      ConstNumber holds;
      if (!number(condition, holds) || !holds.is(Value::Kind::Bool) || !holds.number)
        return fail("its condition `" + condition.text + "` does not hold");
    }
    return make(signature_.result_, result);
  }

  /// Records sizes if ranks agree; contradictions are left to `run`.
  void note(const Type& type, llvm::ArrayRef<int64_t> shape) {
    if (!ranks_agree(type, shape)) return;
    for_each_dim(type, shape, [&](const Dim& dim, llvm::ArrayRef<int64_t> sizes) {
      if (dim.kind == Dim::Kind::Spread)
        shapes_.try_emplace(dim.name, Shape(sizes.begin(), sizes.end()));
      else if (dim.binds())
        sizes_.try_emplace(dim.bound_name(), sizes[0]);
      return true;
    });
  }

  /// Returns a type with these names; other names get drawn sizes.
  TensorType draw(const Type& type, llvm::function_ref<int64_t()> size) {
    for (const Dim& dim : type.dims) {
      if (dim.binds() && !sizes_.count(dim.bound_name())) sizes_[dim.bound_name()] = size();
      if (dim.kind != Dim::Kind::Spread || shapes_.count(dim.name)) continue;
      Shape& shape = shapes_[dim.name];
      for (int64_t rank = size() % 3; rank > 0; --rank) shape.push_back(size());
    }
    TensorType drawn{parse_dtype(type.dtype).value_or(DType::F32), {}};
    for (const Dim& dim : type.dims) {
      int64_t n = 0;
      if (dim.kind == Dim::Kind::Spread)
        drawn.shape.append(shapes_[dim.name].begin(), shapes_[dim.name].end());
      else if (dim.kind == Dim::Kind::Any || !value(dim.value, n) || n < 1)
        drawn.shape.push_back(size());
      else
        drawn.shape.push_back(n);
    }
    return drawn;
  }

private:
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool mismatch(const Type& want, const TensorType& got) {
    return fail(llvm::formatv("an operand is declared as {0}, got {1}", want.text, got.text()));
  }

  static bool ranks_agree(const Type& type, llvm::ArrayRef<int64_t> shape) {
    size_t written = type.dims.size();
    return type.has_spread() ? shape.size() + 1 >= written : shape.size() == written;
  }

  /// Calls visit(dimension, its sizes), in order until it returns false. Requires agreeing ranks.
  template <class Visit>
  static bool for_each_dim(const Type& type, llvm::ArrayRef<int64_t> shape, Visit visit) {
    size_t spread = shape.size() + 1 - type.dims.size();
    return llvm::all_of(type.dims, [&](const Dim& dim) {
      llvm::ArrayRef<int64_t> rest = shape;
      size_t length = dim.kind == Dim::Kind::Spread ? spread : 1;
      shape = rest.drop_front(length);
      return visit(dim, rest.take_front(length));
    });
  }

  bool bind(const Type& want, const TensorType& got) {
    std::optional<DType> fixed = parse_dtype(want.dtype);
    auto [dtype, fresh] = dtypes_.try_emplace(want.dtype, fixed.value_or(got.dtype));
    if (dtype->second != got.dtype || !ranks_agree(want, got.shape)) return mismatch(want, got);
    return for_each_dim(want, got.shape, [&](const Dim& dim, llvm::ArrayRef<int64_t> sizes) {
      if (dim.kind == Dim::Kind::Spread) {
        auto [at, first] = shapes_.try_emplace(dim.name, Shape(sizes.begin(), sizes.end()));
        return llvm::makeArrayRef(at->second) == sizes || mismatch(want, got);
      }
      if (!dim.binds()) return true;
      auto [at, first] = sizes_.try_emplace(dim.bound_name(), sizes[0]);
      return at->second == sizes[0] ||
             fail(llvm::formatv("`{0}` is {1} in one operand and {2} in another", dim.bound_name(),
                                at->second, sizes[0]));
    });
  }

  bool check_computed(const Type& want, const TensorType& got) {
    return for_each_dim(want, got.shape, [&](const Dim& dim, llvm::ArrayRef<int64_t> sizes) {
      if (dim.kind != Dim::Kind::Value || dim.binds()) return true;
      int64_t size = 0;
      if (!value(dim.value, size)) return no_value(dim.value);
      return size == sizes[0] || fail(llvm::formatv("`{0}` is {1}, but the operand has {2}",
                                                    dim.value.text, size, sizes[0]));
    });
  }

  bool make(const Type& want, TensorType& result) {
    std::optional<DType> fixed = parse_dtype(want.dtype);
    result = {fixed ? *fixed : dtypes_.lookup(want.dtype), {}};
    for (const Dim& dim : want.dims) {
      if (dim.kind == Dim::Kind::Spread) {
        const Shape& part = shapes_[dim.name];
        result.shape.append(part.begin(), part.end());
        continue;
      }
      int64_t size = 0;
      if (!value(dim.value, size)) return no_value(dim.value);
      result.shape.push_back(size);
    }
    return true;
  }

  bool no_value(const ExternSignature::Expr& e) {
    return fail("`" + e.text + "` has no value: it overflows, or its division leaves a remainder");
  }

  bool value(const ExternSignature::Expr& e, int64_t& out) const {
    ConstNumber made;
    bool integer = number(e, made) && made.is(Value::Kind::Int);
    if (integer) out = made.number;
    return integer;
  }

  bool number(const ExternSignature::Expr& e, ConstNumber& out) const {
    llvm::SmallVector<ConstNumber, 8> stack;
    for (const Item& item : e.postfix) {
      if (item.kind == Item::Kind::Number) {
        stack.push_back(ConstNumber::of_int(item.number));
      } else if (item.kind == Item::Kind::Name) {
        stack.push_back(ConstNumber::of_int(sizes_.lookup(item.name)));
      } else if (is_prefix(item.op)) {
        if (fold(item.op, stack.back(), stack.back()) != ConstFault::None) return false;
      } else {
        ConstNumber right = stack.pop_back_val();
        if (fold(item.op, stack.back(), right, stack.back()) != ConstFault::None) return false;
      }
    }
    out = stack.back();
    return true;
  }

  const ExternSignature& signature_;
  std::string& why_;
  llvm::StringMap<int64_t> sizes_;
  llvm::StringMap<Shape> shapes_;
  llvm::StringMap<DType> dtypes_;
};

llvm::SmallVector<TensorType, 4>
ExternSignature::example(llvm::ArrayRef<std::optional<Shape>> known, const Shape* want,
                         llvm::function_ref<int64_t()> size) const {
  std::string why;
  ExternSignatureBinder binder(*this, why);
  for (size_t i = 0; i < operands_.size() && i < known.size(); ++i)
    if (known[i]) binder.note(operands_[i], *known[i]);
  if (want) binder.note(result_, *want);
  llvm::SmallVector<TensorType, 4> types;
  for (const Type& type : operands_) types.push_back(binder.draw(type, size));
  return types;
}

DType ExternSignature::dtype_of(size_t operand) const {
  const Type& type = operand < operands_.size() ? operands_[operand] : result_;
  return parse_dtype(type.dtype).value_or(DType::None);
}

bool ExternSignature::infer(llvm::ArrayRef<TensorType> operands, TensorType& result,
                            std::string& why) const {
  return ExternSignatureBinder(*this, why).run(operands, result);
}

} // namespace tg
