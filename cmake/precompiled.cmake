# Precompiled headers: the standard library's and LLVM's that most files include, and for tests
# GoogleTest's, are read once per build instead of by each file. Ours are not among them, so that a
# change of one rebuilds what includes it and no more.
#
# Every file still includes what it uses: builds without them, file by file (the preset asan), and
# clang-tidy see to that.
#
# Not with a compiler launcher (ccache): a precompiled header keeps it from recognising a file, and a
# hit costs less than any header. Not with clang, whose precompiled headers want equal definitions.
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

# What g++ 12's optimiser says of the library's own code it keeps to itself, but not where that code
# comes precompiled: std::string("a") + "b" is then out of bounds. Builds without tell what is ours.
set(TG_PCH_WARNINGS -Wno-error=invalid-pch -Wno-array-bounds -Wno-dangling-pointer
  -Wno-free-nonheap-object -Wno-mismatched-new-delete -Wno-nonnull -Wno-restrict
  -Wno-stringop-overflow -Wno-stringop-overread -Wno-stringop-truncation -Wno-uninitialized
  -Wno-use-after-free)

# The owner of one set of headers; its flags are those of the targets that share them.
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

# tg_precompile(TARGET FROM owner)
function(tg_precompile name owner)
  if(TARGET ${owner})
    target_precompile_headers(${name} REUSE_FROM ${owner})
    target_compile_options(${name} PRIVATE ${TG_PCH_WARNINGS})
  endif()
endfunction()
