# Precompiled headers: common headers of the standard library and of LLVM (and GoogleTest's for tests) are
# compiled once per build instead of once per file. Headers of this project are not precompiled, so that a
# change to one rebuilds only the files that include it.
#
# Every file must still include the headers that it uses. The preset asan, which compiles file by file
# without precompiled headers, and clang-tidy enforce this.
#
# Precompiled headers are off with a compiler launcher (ccache): they prevent cache hits, and a hit is faster
# than a precompiled header. They are off with clang, which requires equal definitions in every user.
option(TG_PCH "Precompiled headers, where g++ compiles without a launcher" ON)
set(TG_PRECOMPILE OFF)
if(TG_PCH AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(TG_PRECOMPILE ON)
endif()

set(TG_PCH_HEADERS
  <algorithm> <array> <atomic> <bit> <cassert> <charconv> <chrono> <cmath> <cstdint> <cstdlib> <cstring>
  <deque> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <string>
  <string_view> <thread> <tuple> <utility> <vector>
  <llvm/ADT/ArrayRef.h> <llvm/ADT/BitVector.h> <llvm/ADT/DenseMap.h> <llvm/ADT/DenseSet.h>
  <llvm/ADT/Hashing.h> <llvm/ADT/MapVector.h> <llvm/ADT/STLExtras.h> <llvm/ADT/SmallString.h>
  <llvm/ADT/SmallVector.h> <llvm/ADT/StringExtras.h> <llvm/ADT/StringMap.h> <llvm/ADT/StringRef.h>
  <llvm/ADT/StringSet.h> <llvm/ADT/StringSwitch.h> <llvm/Support/FileSystem.h>
  <llvm/Support/FormatVariadic.h> <llvm/Support/MemoryBuffer.h> <llvm/Support/Path.h>
  <llvm/Support/raw_ostream.h>)

# g++ 12 suppresses its optimiser's warnings about system headers, but not if they are precompiled:
# it then reports std::string("a") + "b" as out of bounds. Builds without precompiled headers keep these warnings.
set(TG_PCH_WARNINGS -Wno-error=invalid-pch -Wno-array-bounds -Wno-dangling-pointer
  -Wno-free-nonheap-object -Wno-mismatched-new-delete -Wno-nonnull -Wno-restrict
  -Wno-stringop-overflow -Wno-stringop-overread -Wno-stringop-truncation -Wno-uninitialized
  -Wno-use-after-free)

# Adds a target that precompiles a set of headers. Its flags must be those of the targets that share them.
function(tg_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;OPTIONS;DEPS" ${ARGN})
  if(NOT TG_PRECOMPILE)
    return()
  endif()
  set(source ${CMAKE_BINARY_DIR}/generated/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Holds the precompiled headers of others.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# tg_precompile(TARGET OWNER): reuses the precompiled headers of OWNER, if it exists.
function(tg_precompile name owner)
  if(TARGET ${owner})
    target_precompile_headers(${name} REUSE_FROM ${owner})
    target_compile_options(${name} PRIVATE ${TG_PCH_WARNINGS})
  endif()
endfunction()
