#include "compiler/equiv/degree.h"

#include "lang/core/semantics_impl.h"

namespace tg {

template Degree pointwise<Degree>(OpKind, const Degree*);
template void evaluate_op<Degree>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Degree>>,
                                  View<Degree>, llvm::MutableArrayRef<Degree>);

} // namespace tg
