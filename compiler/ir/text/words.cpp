#include "compiler/ir/text/words.h"

#include "lang/check/consteval.h"
#include "lang/check/resolve.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <cmath>

namespace tg::text {

llvm::ArrayRef<llvm::StringLiteral> keywords() {
  static constexpr llvm::StringLiteral kWords[] = {
      "and", "as", "else", "extern", "false", "fn",      "for",  "if",  "in",  "let",  "model",
      "not", "op", "or",   "param",  "rule",  "ruleset", "true", "use", "var", "where"};
  return kWords;
}

bool reserved(llvm::StringRef name) { return llvm::is_contained(keywords(), name); }

bool is_word(llvm::StringRef name) {
  return reserved(name) || find_op(name) || is_constant_name(name) ||
         llvm::any_of(all_builtins(), [&](const BuiltinInfo& b) { return b.name == name; });
}

bool is_identifier(llvm::StringRef text) {
  return !text.empty() && !llvm::isDigit(text[0]) &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::string identifier(llvm::StringRef text, llvm::StringRef fallback) {
  if (is_identifier(text)) return text.str();
  std::string name;
  for (char c : text) {
    bool good = llvm::isAlnum(c) || c == '_';
    if (good) name += c;
    if (!good && !name.empty() && name.back() != '_') name += '_';
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty()) name = fallback.str();
  if (!name.empty() && llvm::isDigit(name[0])) name = "_" + name;
  return name;
}

Sign sign_of(OpKind op) {
  switch (op) {
  case OpKind::LogicalOr: return {"or", Sign::Or};
  case OpKind::LogicalAnd: return {"and", Sign::And};
  case OpKind::LogicalNot: return {"not ", Sign::Not};
  case OpKind::Equal: return {"==", Sign::Comparison};
  case OpKind::NotEqual: return {"!=", Sign::Comparison};
  case OpKind::Less: return {"<", Sign::Comparison};
  case OpKind::LessEqual: return {"<=", Sign::Comparison};
  case OpKind::Greater: return {">", Sign::Comparison};
  case OpKind::GreaterEqual: return {">=", Sign::Comparison};
  case OpKind::Add: return {"+", Sign::Sum};
  case OpKind::Sub: return {"-", Sign::Sum};
  case OpKind::Mul: return {"*", Sign::Product};
  case OpKind::Div: return {"/", Sign::Product};
  case OpKind::Mod: return {"%", Sign::Product};
  case OpKind::Matmul: return {"@", Sign::Product};
  case OpKind::Neg: return {"-", Sign::Negation};
  default: return {"", Sign::Negation};
  }
}

std::string type_text(const TensorType& type) {
  bool ambiguous = type.shape.empty() && type.dtype == DType::Bool;
  return ambiguous ? type.text() + "[]" : type.text();
}

std::string NumberWords::text(double x) const {
  if (std::isnan(x)) return nan;
  if (std::isinf(x)) return x < 0 ? "-" + inf : inf;
  return Value::of_float(x).text_form();
}

std::string NumberWords::text(double x, DType dtype) const {
  if (dtype == DType::Bool) return x != 0 ? "true" : "false";
  if (dtype == DType::I32 || dtype == DType::I64) return std::to_string(static_cast<int64_t>(x));
  return text(x);
}

std::string NumberWords::text(const Value& values, size_t i, DType dtype) const {
  if (values.is(Value::Kind::Ints)) return std::to_string(values.ints[i]);
  return text(values.reals[i], dtype);
}

std::string constant_text(const NumberWords& words, const Value& values, const TensorType& type,
                          const ConstantParts& parts, bool mixed) {
  auto is_open = [&](size_t i) { return parts.open.count(static_cast<uint32_t>(i)) != 0; };
  auto number = [&](size_t i) {
    return is_open(i) ? parts.open.lookup(static_cast<uint32_t>(i))
                      : words.text(values, i, type.dtype);
  };
  bool plain = type.dtype == DType::F32 && !mixed;
  std::string dtype = plain ? "" : (", " + dtype_name(type.dtype)).str();
  int64_t elements = type.elements();
  const std::string& shape = parts.shape;
  if (elements == 0) return "zeros(" + shape + dtype + ")";
  if (type.shape.empty()) return plain ? number(0) : "tensor(" + number(0) + dtype + ")";
  if (values.reals.size() + values.ints.size() == 1 && elements != 1) {
    double first = values.reals.empty() || is_open(0) ? 2 : values.reals[0];
    if (first == 0 && !std::signbit(first)) return "zeros(" + shape + dtype + ")";
    if (first == 1) return "ones(" + shape + dtype + ")";
    return "full(" + shape + ", " + number(0) + dtype + ")";
  }
  std::string text = plain ? "" : "tensor(";
  for (int64_t i = 0; i < elements; ++i) {
    if (i) text += ", ";
    // A bracket opens or closes if the index is a multiple of the number of elements below an axis.
    for (int64_t axis = 0, below = elements; axis < type.rank(); below /= type[axis++])
      if (i % below == 0) text += '[';
    text += number(static_cast<size_t>(i));
    for (int64_t axis = 0, below = elements; axis < type.rank(); below /= type[axis++])
      if ((i + 1) % below == 0) text += ']';
  }
  return plain ? text : text + dtype + ")";
}

} // namespace tg::text
