// Releases memory of mapped files that is not needed at the moment.
#pragma once

#include <llvm/ADT/StringRef.h>

namespace tg {

/// Releases the pages entirely within these bytes, if they belong to a read-only file mapping. The
/// next read loads them from the file, which the system usually still caches. Other memory is
/// unchanged.
void release_mapped_pages(llvm::StringRef bytes);

} // namespace tg
