// Reads what instance_key() writes: operators with their types, from the keys of cost tables and
// databases. Keys may come from another version, or from anywhere: what is not an instance of an
// operator of ours is none.
#pragma once

#include "compiler/extract/cost/cost.h"

#include <optional>

namespace tg {

/// The types are those of `symbols`. nullopt where the text is no instance, or its types do not
/// fit.
std::optional<OwnedInstance> read_instance(Symbols& symbols, llvm::StringRef key);

} // namespace tg
