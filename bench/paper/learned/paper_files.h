// The networks of this folder, embedded into `tg-paper`.
#pragma once

#include "lang/core/support/data_file.h"

namespace tg {

/// The .tg files of bench/paper/learned, by their paths. Defined in a generated file.
llvm::ArrayRef<EmbeddedFile> paper_files();

} // namespace tg
