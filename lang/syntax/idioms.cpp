// See idioms.h.
#include "lang/syntax/idioms.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg {

using llvm::StringRef;
using Words = llvm::StringSwitch<StringRef>;

namespace {

constexpr ForeignOp kForeignOps[] = {
#define TG_FOREIGN(names, module, code, text) {names, module, code, text},
#include "lang/syntax/foreign_ops.def"
};

/// Maps `HardSwish`, `hard_swish` and `hardswish` to the same name.
std::string normal_form(StringRef name) {
  std::string out;
  for (char c : name)
    if (c != '_') out += llvm::toLower(c);
  return out;
}

bool is_class(StringRef name) { return name.front() >= 'A' && name.front() <= 'Z'; }

/// Returns the operator for a class such as `Mish`, `HardSwish`,
/// `ELU` that is an operator of one tensor here.
std::string operator_of_class(StringRef name) {
  if (!is_class(name)) return "";
  for (const OpInfo& op : all_ops()) {
    bool alone = op.operand_count == 1 && !op.variadic() && !op.has(Trait::Leaf) &&
                 llvm::none_of(op.attrs(), [](const AttrInfo& attr) { return attr.required; });
    if (alone && normal_form(op.name) == normal_form(name)) return std::string(op.name);
  }
  return "";
}

bool names(StringRef word, StringRef name) {
  return (!is_class(word) || is_class(name)) && normal_form(word) == normal_form(name);
}

} // namespace

llvm::ArrayRef<ForeignOp> foreign_ops() { return kForeignOps; }

std::string ForeignOp::help() const {
  std::string use = module.empty() ? "" : ("`use " + module + "`, then ").str();
  return use + llvm::formatv(text.data(), ("`" + code + "`").str()).str();
}

std::string idiom_of_function(StringRef name) {
  if (name.empty()) return "";
  for (const ForeignOp& row : kForeignOps) {
    llvm::SmallVector<StringRef, 8> words;
    row.names.split(words, ' ');
    if (llvm::any_of(words, [&](StringRef word) { return names(word, name); })) return row.help();
  }
  std::string op = operator_of_class(name);
  return op.empty() ? "" : "operators are lowercase and take their tensor: `" + op + "(x)`";
}

StringRef idiom_of_name(StringRef name) {
  return Words(name)
      .Case("True", "write `true`")
      .Case("False", "write `false`")
      .Cases("None", "null", "nullptr", "write `none`")
      .Cases("torch", "nn", "np", "F", "tf", "jnp", "jax", "numpy", "keras",
             "operators are called by name: `relu(x)`")
      .Case("self", "there are no objects: declare weights where they are used, with `param w: "
                    "f32[D, D]`")
      .Default("");
}

StringRef idiom_of_argument(StringRef name) {
  return Words(name)
      .Cases("dim", "dims", "axis axes perm")
      .Cases("min", "lo", "min_val", "low")
      .Cases("max", "hi", "max_val", "high")
      .Case("axis", "axes")
      .Case("axes", "axis")
      .Cases("keepdim", "keep_dims", "keepdims")
      .Cases("padding", "pads", "pad")
      .Cases("kernel_size", "ksize", "window", "kernel")
      .Cases("out_channels", "out_features", "filters", "units", "channels width")
      .Case("strides", "stride")
      .Cases("chunks", "sections", "parts sizes")
      .Cases("input", "tensor", "a", "x")
      .Cases("other", "b", "y")
      .Cases("weight", "kernel", "w")
      .Cases("permutation", "order", "perm")
      .Default("");
}

StringRef idiom_of_dtype(StringRef name) {
  return Words(name)
      .Cases("float", "float32", "single", "Float", "FloatTensor", "fp32", "f32")
      .Cases("double", "Double", "DoubleTensor", "float64", "fp64", "f64")
      .Cases("float16", "half", "Half", "HalfTensor", "fp16", "f16")
      .Cases("bfloat16", "BFloat16", "BFloat16Tensor", "bf16")
      .Cases("int32", "IntTensor", "i32")
      .Cases("int", "int64", "Int", "long", "Long", "LongTensor", "i64")
      .Cases("boolean", "Bool", "BoolTensor", "bool")
      .Default("");
}

std::string idiom_of_type(StringRef name) {
  if (StringRef dtype = idiom_of_dtype(name); !dtype.empty())
    return ("write `" + dtype + "`: the type of a tensor is " + dtype + "[N, C]").str();
  StringRef kind = Words(name)
                       .Cases("Tensor", "tensor", "ndarray", "NDArray", "array", "Array", "tensor")
                       .Cases("int8", "int16", "uint8", "uint16", "uint32", "uint64", "dtype")
                       .Cases("i8", "i16", "u8", "u16", "u32", "u64", "dtype")
                       .Cases("short", "byte", "char", "ByteTensor", "complex64", "dtype")
                       .Default("");
  if (kind == "tensor") return "write a tensor type as dtype and shape: f32[N, C]";
  if (kind == "dtype")
    return ("there is no " + name + ": dtypes are f32, f64, f16, bf16, i32, i64 and bool").str();
  return "";
}

std::string idiom_of_quotes(StringRef name, AttrKind kind, StringRef text) {
  if (!llvm::is_contained(enum_members(kind), text)) return "";
  return ("write words without quotes: `" + name + " = " + text + "`").str();
}

std::string parameters_text(OpKind op) {
  std::string text;
  auto add = [&](std::string_view name, llvm::Twine more) {
    text += ((text.empty() ? "" : ", ") + StringRef(name.data(), name.size()) + more).str();
  };
  for (const OperandInfo& operand : op_info(op).operands())
    add(operand.name, operand.variadic ? "..." : operand.optional ? " = none" : "");
  for (const AttrInfo& attr : op_info(op).attrs())
    add(attr.name, attr.required ? "" : " = " + std::string(attr.default_text));
  return text;
}

} // namespace tg
