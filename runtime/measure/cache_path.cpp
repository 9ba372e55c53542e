#include "runtime/measure/cache_path.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

#include <cstdlib>

namespace tg {

std::string cache_path(llvm::StringRef name) {
  llvm::SmallString<128> path;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && cache[0] == '/') { // the standard has relative ones ignored
    path = cache;
  } else if (home && home[0] == '/') {
    path = home;
    llvm::sys::path::append(path, ".cache");
  } else {
    return "";
  }
  llvm::sys::path::append(path, "tangram", name);
  return path.str().str();
}

} // namespace tg
