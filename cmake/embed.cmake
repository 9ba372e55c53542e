# Writes a C++ file with a table {name, text} of the given files. Texts are split into short literals,
# because compilers limit the length of a literal.
set(body "")
foreach(file ${FILES})
  file(READ ${ROOT}/${file} text)
  string(LENGTH "${text}" length)
  string(APPEND body "    {\"${file}\",\n")
  set(offset 0)
  while(offset LESS length)
    string(SUBSTRING "${text}" ${offset} 4000 chunk)
    string(APPEND body "     R\"tgtext(${chunk})tgtext\"\n")
    math(EXPR offset "${offset} + 4000")
  endwhile()
  string(APPEND body "    },\n")
endforeach()
list(LENGTH FILES count)
file(WRITE ${OUT} "// Made by cmake/embed.cmake; do not edit.
#include \"lang/core/support/data_file.h\"
#include <array>
namespace tg {
namespace {
const std::array<EmbeddedFile, ${count}> kFiles = {{
${body}}};
}
llvm::ArrayRef<EmbeddedFile> ${NAME}();
llvm::ArrayRef<EmbeddedFile> ${NAME}() { return kFiles; }
} // namespace tg
")
