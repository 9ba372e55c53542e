// The shape rules on open sizes.
#pragma once

#include "lang/core/op.h"
#include "lang/core/sizes/open_size.h"

namespace tg {

/// `infer` of shape_rules.h for types and attributes with open sizes: the same rules, whose
/// decisions the run of the sizes notes.
bool infer_open(OpKind op, llvm::SmallVectorImpl<OpenValue>& attrs,
                llvm::ArrayRef<OpenType> operands, OpenType& result, std::string& why);

} // namespace tg
