// See extern_signature.h. The reader goes over words and signs once, one of them ahead, with
// Dijkstra's shunting-yard for expressions.
#include "lang/core/extern_signature.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/FormatVariadic.h>

#include <utility>

namespace tg {

namespace {

constexpr llvm::StringLiteral kNegate = "neg";

/// How close an operator binds; 0 for what is none. Those of one strength group from the left.
int strength(llvm::StringRef op) {
  return llvm::StringSwitch<int>(op)
      .Case("or", 1)
      .Case("and", 2)
      .Case("not", 3)
      .Cases("==", "!=", "<", "<=", ">", ">=", 4)
      .Cases("+", "-", 5)
      .Cases("*", "/", "//", "%", 6)
      .Case(kNegate, 7)
      .Default(0);
}

bool is_prefix(llvm::StringRef op) { return op == "not" || op == kNegate; }

/// a op b; false where it has no exact value.
bool apply(llvm::StringRef op, int64_t a, int64_t b, int64_t& out) {
  if (op == "+") return !__builtin_add_overflow(a, b, &out);
  if (op == "-") return !__builtin_sub_overflow(a, b, &out);
  if (op == "*") return !__builtin_mul_overflow(a, b, &out);
  if (op == "/" || op == "//" || op == "%") {
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    int64_t quotient = a / b, rest = a % b;
    if (op == "/" && rest != 0) return false;
    bool down = rest != 0 && (rest < 0) != (b < 0);
    return out = op == "%" ? rest + (down ? b : 0) : quotient - down, true;
  }
  out = llvm::StringSwitch<bool>(op)
            .Case("==", a == b)
            .Case("!=", a != b)
            .Case("<", a < b)
            .Case("<=", a <= b)
            .Case(">", a > b)
            .Case(">=", a >= b)
            .Case("and", a != 0 && b != 0)
            .Default(a != 0 || b != 0);
  return true;
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
  /// The word, number or sign that comes next; "" at the end.
  llvm::StringRef scan() {
    rest_ = rest_.ltrim();
    llvm::StringRef token = rest_.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (token.empty()) token = rest_.take_front(sign_length());
    rest_ = rest_.drop_front(token.size());
    return token;
  }

  size_t sign_length() const {
    for (llvm::StringRef sign : {"...", "->", "//", "==", "!=", "<=", ">="})
      if (rest_.startswith(sign)) return sign.size();
    return 1;
  }

  llvm::StringRef next() {
    end_ = token_.end();
    return std::exchange(token_, scan());
  }

  bool take(llvm::StringRef token) {
    if (token_ != token) return false;
    next();
    return true;
  }

  /// What was read from there on.
  std::string text_since(const char* start) const { return {start, end_}; }

  static bool is_name(llvm::StringRef token) {
    return !token.empty() && (llvm::isAlpha(token[0]) || token[0] == '_') && strength(token) == 0;
  }

  bool type(ExternSignature::Type& out) {
    const char* start = token_.data();
    llvm::StringRef name = next();
    if (!is_name(name)) return false;
    out.dtype = name.str();
    if (take("[")) {
      while (!take("]")) {
        if (!out.dims.empty() && !take(",")) return false;
        if (!dim(out.dims.emplace_back())) return false;
      }
    }
    out.text = text_since(start);
    return true;
  }

  bool dim(ExternSignature::Dim& out) {
    if (take("_")) return out.kind = ExternSignature::Dim::Kind::Any, true;
    if (!expr(out.value)) return false;
    if (!take("...")) return true;
    out.kind = ExternSignature::Dim::Kind::Spread;
    out.name = out.value.bare() ? out.value.postfix[0].text : "";
    return !out.name.empty();
  }

  /// Operators wait on `open` until what comes behind binds less; operands go out at once.
  bool expr(ExternSignature::Expr& out) {
    const char* start = token_.data();
    llvm::SmallVector<llvm::StringRef, 8> open;
    auto emit = [&](llvm::StringRef op) {
      out.postfix.push_back({ExternSignature::Item::Kind::Operator, 0, op.str()});
    };
    auto unwind = [&](int least) {
      while (!open.empty() && open.back() != "(" && strength(open.back()) >= least)
        emit(open.pop_back_val());
    };
    bool operand = true; // one is expected next
    for (size_t depth = 0;;) {
      llvm::StringRef token = token_;
      if (operand) {
        int64_t number = 0;
        if (token == "(")
          open.push_back(next()), ++depth;
        else if (token == "-" || token == "not")
          open.push_back(next() == "-" ? llvm::StringRef(kNegate) : token);
        else if (!token.getAsInteger(10, number))
          out.postfix.push_back({ExternSignature::Item::Kind::Number, number, {}}), next(),
              operand = false;
        else if (is_name(token))
          out.postfix.push_back({ExternSignature::Item::Kind::Name, 0, next().str()}),
              operand = false;
        else
          return false;
      } else if (token == ")" && depth > 0) {
        unwind(1);
        open.pop_back(), --depth, next();
      } else if (strength(token) > 0 && !is_prefix(token)) {
        unwind(strength(token));
        open.push_back(next());
        operand = true;
      } else {
        unwind(1);
        out.text = text_since(start);
        return depth == 0;
      }
    }
  }

  llvm::StringRef rest_;      // behind token_
  llvm::StringRef token_;     // the next; "" at the end
  const char* end_ = nullptr; // of what was taken last
};

std::optional<ExternSignature> ExternSignature::parse(llvm::StringRef text) {
  return ExternSignatureReader(text).run();
}

/// Whether the result and all that is computed use names that operands bind, and no type has two
/// parts of unknown length.
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
      return item.kind != Item::Kind::Name || sizes.count(item.text);
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
      return fail(llvm::formatv("it takes {0} operands, got {1}", signature_.operands_.size(),
                                operands.size()));
    for (size_t i = 0; i < operands.size(); ++i)
      if (!bind(signature_.operands_[i], operands[i])) return false;
    for (size_t i = 0; i < operands.size(); ++i)
      if (!check_computed(signature_.operands_[i], operands[i])) return false;
    for (const ExternSignature::Expr& condition : signature_.where_) {
      int64_t holds = 0;
      if (!value(condition, holds) || !holds)
        return fail("its condition `" + condition.text + "` does not hold");
    }
    return make(signature_.result_, result);
  }

  /// As far as ranks agree; contradictions are left to `run`.
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

  /// A type with these names, others drawn.
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
    return fail(llvm::formatv("an operand declared {0} is {1}", want.text, got.text()));
  }

  static bool ranks_agree(const Type& type, llvm::ArrayRef<int64_t> shape) {
    size_t written = type.dims.size();
    return type.has_spread() ? shape.size() + 1 >= written : shape.size() == written;
  }

  /// visit(dimension, the sizes that it stands for), in order until it is false; where ranks agree.
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
             fail(llvm::formatv("`{0}` is {1} and {2}", dim.bound_name(), at->second, sizes[0]));
    });
  }

  bool check_computed(const Type& want, const TensorType& got) {
    return for_each_dim(want, got.shape, [&](const Dim& dim, llvm::ArrayRef<int64_t> sizes) {
      if (dim.kind != Dim::Kind::Value || dim.binds()) return true;
      int64_t size = 0;
      if (!value(dim.value, size)) return no_value(dim.value);
      return size == sizes[0] || fail(llvm::formatv("`{0}` is {1}, the operand has {2}",
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
    llvm::SmallVector<int64_t, 8> stack;
    for (const Item& item : e.postfix) {
      if (item.kind == Item::Kind::Number) {
        stack.push_back(item.number);
      } else if (item.kind == Item::Kind::Name) {
        stack.push_back(sizes_.lookup(item.text));
      } else if (item.text == "not") {
        stack.back() = stack.back() == 0;
      } else if (item.text == kNegate) {
        if (__builtin_sub_overflow(int64_t{0}, stack.back(), &stack.back())) return false;
      } else {
        int64_t right = stack.pop_back_val();
        if (!apply(item.text, stack.back(), right, stack.back())) return false;
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
