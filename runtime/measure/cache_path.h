// Where what can be made again is kept: measured costs, compiled kernels, verified rules.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>

namespace tg {

/// $XDG_CACHE_HOME/tangram/NAME or ~/.cache/tangram/NAME; "" if there is no home. Makes nothing.
std::string cache_path(llvm::StringRef name);

} // namespace tg
