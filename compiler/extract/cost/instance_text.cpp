#include "compiler/extract/cost/price_features.h"

#include "lang/core/shape_rules.h"

#include <llvm/ADT/StringExtras.h>

namespace tg {

namespace {

/// Parses one key from left to right. Each function consumes its part; false means that the
/// part is missing.
class KeyReader {
public:
  KeyReader(Symbols& symbols, llvm::StringRef text) : symbols_(symbols), text_(text) {}

  std::optional<OwnedInstance> read() {
    OwnedInstance out;
    auto [name, rest] = text_.split('(');
    std::optional<OpKind> op = find_op(name);
    text_ = rest;
    if (!op || op_info(*op).has(Trait::Leaf | Trait::Sugar) || *op == OpKind::Extern)
      return std::nullopt;
    const OpInfo& info = op_info(out.op = *op);
    if (!operands(out) || !fits(info, out)) return std::nullopt;
    llvm::SmallVector<ValueId, 4> attrs;
    if (!attributes(info, attrs) || !text_.empty()) return std::nullopt;
    if (!infer(symbols_, out.op, attrs, out.operands, out.result)) return std::nullopt;
    out.attrs = symbols_.attrs(attrs);
    return out;
  }

private:
  /// Returns true if the operator takes this many operands and only optional ones are absent.
  bool fits(const OpInfo& info, const OwnedInstance& read) const {
    auto absent = [&](size_t i) { return read.operands[i] == symbols_.none_type(); };
    if (!info.variadic() && read.operands.size() != info.operand_count) return false;
    for (size_t i = 0; i < read.operands.size(); ++i)
      if (absent(i) && (info.variadic() || !info.operands()[i].optional)) return false;
    return !read.operands.empty();
  }

  /// Parses operands up to the closing parenthesis.
  bool operands(OwnedInstance& out) {
    while (!text_.consume_front(")")) {
      if (!out.operands.empty() && !text_.consume_front(", ")) return false;
      bool weight = text_.consume_front("w ");
      std::optional<TensorType> type = tensor_type();
      if (!type || out.operands.size() >= kMostOperands) return false;
      if (weight && out.operands.size() < 32) out.weight_operands |= 1U << out.operands.size();
      out.operands.push_back(type->is_none() ? symbols_.none_type() : symbols_.type(*type));
    }
    return true;
  }

  std::optional<TensorType> tensor_type() {
    if (text_.consume_front("none")) return TensorType{};
    llvm::StringRef name = text_.take_while([](char c) { return llvm::isAlnum(c); });
    std::optional<DType> dtype = parse_dtype(name);
    if (!dtype) return std::nullopt;
    text_ = text_.drop_front(name.size());
    TensorType type{*dtype, {}};
    if (!text_.startswith("[")) return type;
    std::optional<llvm::SmallVector<int64_t, 4>> sizes = numbers();
    if (!sizes || sizes->size() > static_cast<size_t>(kMaxRank)) return std::nullopt;
    int64_t elements = 1;
    for (int64_t size : *sizes) {
      if (size <= 0 || size > kMaxElements / elements) return std::nullopt;
      elements *= size;
    }
    type.shape.assign(sizes->begin(), sizes->end());
    return type;
  }

  /// Parses "[1, 2]".
  std::optional<llvm::SmallVector<int64_t, 4>> numbers() {
    llvm::SmallVector<int64_t, 4> out;
    if (!text_.consume_front("[")) return std::nullopt;
    while (!text_.consume_front("]")) {
      int64_t number = 0;
      if ((!out.empty() && !text_.consume_front(", ")) || text_.consumeInteger(10, number))
        return std::nullopt;
      out.push_back(number);
    }
    return out;
  }

  bool attributes(const OpInfo& info, llvm::SmallVectorImpl<ValueId>& out) {
    for (size_t slot = 0; slot < info.attrs().size(); ++slot) {
      if (!text_.consume_front(slot == 0 ? " {" : ", ") ||
          !text_.consume_front(llvm::StringRef(info.attrs()[slot].name)) ||
          !text_.consume_front(" = "))
        return false;
      std::optional<Value> value = attribute(info.attrs()[slot].kind);
      if (!value) return false;
      out.push_back(symbols_.value(*value));
    }
    return info.attrs().empty() || text_.consume_front("}");
  }

  std::optional<Value> attribute(AttrKind kind) {
    if (text_.startswith("[")) {
      auto list = numbers();
      return list ? std::optional<Value>(Value::of_ints(*list)) : std::nullopt;
    }
    if (text_.consume_front("\"")) { // bodies of fused maps contain no escapes
      auto [inside, rest] = text_.split('"');
      text_ = rest;
      return Value::of_string(inside);
    }
    llvm::StringRef word = text_.take_until([](char c) { return c == ',' || c == '}'; });
    text_ = text_.drop_front(word.size());
    if (kind == AttrKind::boolean) return Value::of_bool(word == "true");
    int64_t whole = 0;
    double real = 0;
    if (!word.getAsInteger(10, whole)) return Value::of_int(whole);
    if (kind == AttrKind::real)
      return word.getAsDouble(real) ? std::nullopt : std::optional<Value>(Value::of_float(real));
    return word.empty() ? std::nullopt : std::optional<Value>(Value::of_enum(word));
  }

  static constexpr size_t kMostOperands = 4096; // of a concat
  Symbols& symbols_;
  llvm::StringRef text_;
};

} // namespace

std::optional<OwnedInstance> read_instance(Symbols& symbols, llvm::StringRef key) {
  return KeyReader(symbols, key).read();
}

} // namespace tg
