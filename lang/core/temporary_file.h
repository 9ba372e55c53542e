// The files that are being written under temporary names: a signal that ends the program must leave
// none of them behind. A handler can reach nothing but what is global, so their names are.
#pragma once

#include <llvm/ADT/StringRef.h>

namespace tg {

/// A name that is removed if a signal ends the program while this lives. Where there are too many
/// at once, it is not.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef path);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

private:
  int slot_ = -1;
};

/// Whether there is one. This and the next are safe in a signal handler.
bool writes_files();
void remove_temporary_files();

} // namespace tg
