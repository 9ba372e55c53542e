#include "compiler/verify/counterexample/typed.h"

#include "compiler/verify/counterexample/typed_pass.h"

#include <cmath>

namespace tg {

namespace {

constexpr size_t kShownInText = 8; // elements of a tensor in a text

} // namespace

bool rounds(OpKind op) { return !op_info(op).has(Trait::Leaf | Trait::Layout | Trait::Exact); }

Integer wrap_to(DType dtype, Integer x) {
  if (dtype == DType::I32) return Integer(static_cast<int32_t>(static_cast<uint32_t>(x.value)));
  if (dtype == DType::Bool) return Integer(x.value != 0);
  return x;
}

std::string shown(const TypedValues& values, DType dtype) {
  auto text = [&](size_t i) {
    if (dtype == DType::Bool) return std::string(values.at(i) != 0 ? "true" : "false");
    if (values.whole()) return std::to_string(values.wholes[i].value);
    return Value::of_float(values.reals[i]).text_form();
  };
  if (values.size() == 1) return text(0);
  std::string list = "[";
  for (size_t i = 0; i < std::min(values.size(), kShownInText); ++i)
    list += (i ? ", " : "") + text(i);
  return list + (values.size() > kShownInText ? ", ..]" : "]");
}

TypedRun evaluate_typed(const Graph& graph, const TypedLeaves& leaves,
                        llvm::ArrayRef<NodeId> wanted, Rounding rounding) {
  return TypedPass<double>(graph, leaves, rounding).run(wanted);
}

TypedRun evaluate_noisy(const Graph& graph, const TypedLeaves& leaves,
                        llvm::ArrayRef<NodeId> wanted, const Noise& noise) {
  return TypedPass<double>(graph, leaves, Rounding::None, &noise).run(wanted);
}

} // namespace tg
