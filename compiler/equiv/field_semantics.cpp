// The one definition of the operators, over the field. Sums of products, where the time of whole
// networks goes, fold each product once and the sum once: about ten instructions a term.
#include "compiler/equiv/field.h"
#include "lang/core/semantics_impl.h"

namespace tg {

template void evaluate_op<Field>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Field>>, View<Field>,
                                 llvm::MutableArrayRef<Field>);

} // namespace tg
