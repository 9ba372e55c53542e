# Writes texts of other languages as C++ literals, which are split since compilers limit their length.
# With NAME: a C++ file OUT with a table {name, text} of FILES. Otherwise: the literal of FILES alone.
function(literal file out)
  file(READ ${ROOT}/${file} text)
  string(LENGTH "${text}" length)
  set(offset 0)
  while(offset LESS length)
    string(SUBSTRING "${text}" ${offset} 4000 chunk)
    string(APPEND all "     R\"tgtext(${chunk})tgtext\"\n")
    math(EXPR offset "${offset} + 4000")
  endwhile()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

if(NOT NAME)
  literal(${FILES} text)
  file(WRITE ${OUT} "${text}")
  return()
endif()

set(body "")
foreach(file ${FILES})
  literal(${file} text)
  string(APPEND body "    {\"${file}\",\n${text}    },\n")
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
