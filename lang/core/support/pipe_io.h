// Whole records on file descriptors of pipes and sockets, which transfer parts.
#pragma once

#include <cerrno>
#include <cstddef>
#include <unistd.h>

namespace tg {

/// Reads `size` bytes. Returns false at the end of the file, or on an error.
inline bool read_all(int from, void* data, size_t size) {
  for (char* at = static_cast<char*>(data); size > 0;) {
    ssize_t got = read(from, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

/// Writes `size` bytes. Returns false on an error. Raises SIGPIPE if the reader is gone.
inline bool write_all(int to, const void* data, size_t size) {
  for (const char* at = static_cast<const char*>(data); size > 0;) {
    ssize_t wrote = write(to, at, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    at += wrote;
    size -= static_cast<size_t>(wrote);
  }
  return true;
}

} // namespace tg
