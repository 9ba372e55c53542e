// The page of `tg report`, before and after the trace.
#pragma once

#include <llvm/ADT/StringRef.h>

namespace tg::cli {

llvm::StringRef report_page_head();
llvm::StringRef report_page_tail();

} // namespace tg::cli
