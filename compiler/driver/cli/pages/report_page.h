// The page of `tg report`, and that of a single drawing.
#pragma once

#include "compiler/driver/cli/pages/graph_picture.h"

namespace tg::cli {

/// `json` is the trace, checked; the pictures are its graphs.
std::string report_page(llvm::StringRef json, const Picture& source, const Picture& result);
/// A page with nothing but one drawing.
std::string drawing_page(const Picture& picture);

} // namespace tg::cli
