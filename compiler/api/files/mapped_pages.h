// Memory of mapped files that is not needed at the moment.
#pragma once

#include <llvm/ADT/StringRef.h>

namespace tg {

/// Gives up the pages that lie wholly within these bytes, if they are of a file that is mapped to
/// be read alone: whoever reads them again gets them from the file, which the system mostly still
/// has in memory. Other memory is left as it is.
void release_mapped_pages(llvm::StringRef bytes);

} // namespace tg
