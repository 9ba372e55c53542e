#include "compiler/pricing/export_cost.h"

namespace tg {

/// From one operator of ONNX Runtime 1.31 to the next, beyond what it takes here: of chains of
/// reshapes and small sums, on two threads.
constexpr double kStartUs = 1;

/// Operators of ONNX that the instance is written as: there, a sum and an activation behind a
/// product of matrices are operators of their own, which runtimes do not join with it.
static int operators_of(const Symbols& symbols, const OpInstance& instance) {
  if (instance.op != OpKind::Matmul) return 1;
  bool adds = !symbols.type(instance.operands[3]).is_none();
  return 1 + adds + (symbols.attr(instance.attrs, 0).text != "none");
}

double ExportCost::more_us(const Symbols& symbols, const OpInstance& instance) const {
  if (op_info(instance.op).has(Trait::Leaf)) return 0;
  if (instance.op != OpKind::Slice) return kStartUs * operators_of(symbols, instance);
  const TensorType& part = symbols.type(instance.result);
  bool of_channels = part.rank() == 4 && symbols.attr(instance.attrs, 0).number == 1;
  // Read and written; 1 GB/s is 1,000 bytes a microsecond.
  double bytes = 2.0 * static_cast<double>(part.elements() * dtype_size(part.dtype));
  return (of_channels ? 3 : 1) * (kStartUs + bytes / (device_.memory_gbs * 1e3));
}

} // namespace tg
