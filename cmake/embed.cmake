# Writes a C++ file with the text of each file as a table {name, text}; split into short literals,
# since compilers bound the length of one.
set(body "")
foreach(file ${FILES})
  file(READ ${ROOT}/${file} text)
  string(LENGTH "${text}" length)
  string(APPEND body "    {\"${file}\",\n")
  file(STRINGS ${ROOT}/${file} ignored LIMIT_COUNT 1)
  set(offset 0)
  while(offset LESS length)
    string(SUBSTRING "${text}" ${offset} 4000 chunk)
    string(APPEND body "     R\"tgtext(${chunk})tgtext\"\n")
    math(EXPR offset "${offset} + 4000")
  endwhile()
  string(APPEND body "    },\n")
endforeach()
file(WRITE ${OUT} "// Made by cmake/embed.cmake; do not edit.
#include \"lang/core/embedded.h\"
namespace tg {
namespace {
const EmbeddedFile kFiles[] = {
${body}};
}
llvm::ArrayRef<EmbeddedFile> embedded_files() { return kFiles; }
} // namespace tg
")
