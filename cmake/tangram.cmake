# Helpers of the build. A library has all .cpp files of its folders (not of their subfolders), so that a
# new file needs no change here.

# maybe-uninitialized: false positives inside LLVM 14's FormatProviders.h under g++ 12.
set(TG_WARNINGS -Wall -Wextra -Wpedantic -Werror -Wno-maybe-uninitialized)
set(TG_OUR_DIALECT -fno-exceptions -fno-rtti) # for libraries and programs; GoogleTest needs exceptions and RTTI

function(tg_find_llvm)
  find_program(LLVM_CONFIG NAMES llvm-config llvm-config-14 llvm-config-15 llvm-config-16 REQUIRED)
  foreach(what includedir libdir version)
    execute_process(COMMAND ${LLVM_CONFIG} --${what} OUTPUT_VARIABLE LLVM_${what}
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  set(LLVM_libdir ${LLVM_libdir} PARENT_SCOPE) # for pkg-config
  message(STATUS "LLVM ${LLVM_version} (Support, static)")
  find_package(ZLIB REQUIRED)
  add_library(tg_llvm INTERFACE)
  target_include_directories(tg_llvm SYSTEM INTERFACE ${LLVM_includedir})
  target_link_libraries(tg_llvm INTERFACE ${LLVM_libdir}/libLLVMSupport.a
                        ${LLVM_libdir}/libLLVMDemangle.a ZLIB::ZLIB tinfo dl pthread)
endfunction()

# tg_library(NAME DIR folder ... [ONLY file ... | BUT file ...] [PCH owner] DEPS ...): a static library
# of the folders' *.cpp. ONLY: only the named files of the first folder; BUT: without these.
function(tg_library name)
  cmake_parse_arguments(ARG "" "PCH" "DIR;ONLY;BUT;DEPS" ${ARGN})
  if(NOT ARG_PCH)
    set(ARG_PCH tg_pch)
  endif()
  list(GET ARG_DIR 0 first)
  list(TRANSFORM ARG_DIR REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/\\1/*.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(ARG_ONLY)
    list(TRANSFORM ARG_ONLY PREPEND ${CMAKE_SOURCE_DIR}/${first}/ OUTPUT_VARIABLE sources)
  endif()
  foreach(file ${ARG_BUT})
    list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/${first}/${file})
  endforeach()
  if(sources)
    add_library(${name} STATIC ${sources})
    tg_unite(${name} ${sources})
    target_compile_options(${name} PRIVATE ${TG_WARNINGS} ${TG_OUR_DIALECT})
    tg_precompile(${name} ${ARG_PCH})
    set_property(GLOBAL APPEND PROPERTY tg_archives ${name})
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  tg_link(${name} ${scope} ${ARG_DEPS})
endfunction()

# Headers, and templates that several files instantiate, take most of the compile time. With TG_UNITY the files
# of a folder are compiled as one, which takes a third of the time. Names in the unnamed namespaces of a folder's
# files must therefore differ. Files with a `#pragma GCC target` and generated files are compiled separately.
function(tg_unite target)
  if(NOT TG_UNITY)
    return()
  endif()
  foreach(file ${ARGN})
    file(STRINGS ${file} own_instructions REGEX "^#pragma GCC target" LIMIT_COUNT 1)
    if(NOT own_instructions)
      get_filename_component(folder ${file} DIRECTORY)
      file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${folder})
      string(REPLACE "/" "_" group ${folder})
      set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes included files for headers. A unity build includes .cpp files, whose classes no other unit uses.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# Links targets of this project, and external libraries by their short names.
function(tg_link name scope)
  foreach(dep ${ARGN})
    if(dep STREQUAL "SQLite3")
      find_package(SQLite3 REQUIRED)
      target_link_libraries(${name} ${scope} SQLite::SQLite3)
    elseif(dep STREQUAL "CbcSolver")
      find_path(CBC_INCLUDE_DIR coin/Cbc_C_Interface.h REQUIRED)
      target_include_directories(${name} SYSTEM ${scope} ${CBC_INCLUDE_DIR})
      target_link_libraries(${name} ${scope} CbcSolver Clp)
    else()
      target_link_libraries(${name} ${scope} ${dep})
    endif()
  endforeach()
endfunction()

# tg_optional(TARGET NAME HEADER file LIBRARY name): links an optional library. If it is found, TG_HAVE_NAME is
# defined for the target, and NAME_LIBRARY is set in the build.
function(tg_optional target name)
  cmake_parse_arguments(ARG "" "HEADER;LIBRARY" "" ${ARGN})
  find_path(${name}_INCLUDE_DIR ${ARG_HEADER})
  find_library(${name}_LIBRARY ${ARG_LIBRARY})
  if(${name}_INCLUDE_DIR AND ${name}_LIBRARY)
    target_include_directories(${target} SYSTEM PRIVATE ${${name}_INCLUDE_DIR})
    target_link_libraries(${target} PRIVATE ${${name}_LIBRARY})
    target_compile_definitions(${target} PRIVATE TG_HAVE_${name}=1)
  endif()
endfunction()

# Generates generated/lang/syntax/ from lang/syntax/lexer.l and lang/syntax/parser.y with Flex and Bison.
function(tg_generate_parser target)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/lang/syntax/parser.y)
    return()
  endif()
  find_package(FLEX REQUIRED)
  find_package(BISON 3.8 REQUIRED)
  set(out ${CMAKE_BINARY_DIR}/generated/lang/syntax)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${out}/parser.cpp ${out}/parser.h
    COMMAND ${BISON_EXECUTABLE} -Werror -Wno-deprecated --header=${out}/parser.h -o ${out}/parser.cpp
            ${CMAKE_SOURCE_DIR}/lang/syntax/parser.y
    DEPENDS ${CMAKE_SOURCE_DIR}/lang/syntax/parser.y VERBATIM)
  add_custom_command(OUTPUT ${out}/lexer.cpp ${out}/lexer.h
    COMMAND ${FLEX_EXECUTABLE} --header-file=${out}/lexer.h -o ${out}/lexer.cpp
            ${CMAKE_SOURCE_DIR}/lang/syntax/lexer.l
    DEPENDS ${CMAKE_SOURCE_DIR}/lang/syntax/lexer.l ${out}/parser.h VERBATIM)
  target_sources(${target} PRIVATE ${out}/parser.cpp ${out}/parser.h ${out}/lexer.cpp ${out}/lexer.h)
  # Warnings that generated code does not avoid.
  set_source_files_properties(${out}/parser.cpp ${out}/lexer.cpp PROPERTIES COMPILE_OPTIONS
    "-Wno-sign-compare;-Wno-unused-function;-Wno-unused-but-set-variable;-Wno-null-dereference")
endfunction()

# Defines tg_protobuf: protobuf's lite library. The static archive is preferred, so that programs include it.
# A shared library that links it does not export its symbols, because another version of protobuf may be in the
# same process.
function(tg_find_protobuf)
  find_path(PROTOBUF_INCLUDE_DIR google/protobuf/message_lite.h REQUIRED)
  find_library(PROTOBUF_LITE_LIBRARY NAMES libprotobuf-lite.a protobuf-lite REQUIRED)
  add_library(tg_protobuf INTERFACE)
  target_include_directories(tg_protobuf SYSTEM INTERFACE ${PROTOBUF_INCLUDE_DIR})
  target_link_libraries(tg_protobuf INTERFACE ${PROTOBUF_LITE_LIBRARY} pthread)
  target_link_options(tg_protobuf INTERFACE LINKER:--exclude-libs=libprotobuf-lite.a
                      LINKER:--exclude-libs=libtg_onnx.a)
endfunction()

# tg_generate_protobuf(TARGET path/NAME.proto): runs protoc to make NAME.pb.h and NAME.pb.cc in generated/path/.
function(tg_generate_protobuf target proto)
  find_program(PROTOC protoc REQUIRED)
  get_filename_component(folder ${proto} DIRECTORY)
  get_filename_component(name ${proto} NAME_WE)
  set(out ${CMAKE_BINARY_DIR}/generated/${folder})
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${out}/${name}.pb.cc ${out}/${name}.pb.h
    COMMAND ${PROTOC} --proto_path=${CMAKE_SOURCE_DIR}/${folder} --cpp_out=${out}
            ${CMAKE_SOURCE_DIR}/${proto}
    DEPENDS ${CMAKE_SOURCE_DIR}/${proto} VERBATIM)
  target_sources(${target} PRIVATE ${out}/${name}.pb.cc ${out}/${name}.pb.h)
  # Third-party code is compiled without warnings.
  set_source_files_properties(${out}/${name}.pb.cc PROPERTIES COMPILE_OPTIONS "-w;-fvisibility=hidden"
                              SKIP_PRECOMPILE_HEADERS ON)
  target_link_libraries(${target} PUBLIC tg_protobuf)
endfunction()

# tg_embed(TARGET NAME folder ...): embeds the .tg files of the folders as a function NAME() in
# generated/NAME.cpp (data_file.h).
function(tg_embed target name)
  set(out ${CMAKE_BINARY_DIR}/generated/${name}.cpp)
  set(files)
  foreach(dir ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/${dir}/*.tg)
    list(APPEND files ${found})
  endforeach()
  list(SORT files)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAME=${name} "-DFILES=${files}" -DROOT=${CMAKE_SOURCE_DIR}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    target_sources(${target} PRIVATE ${out})
  endif()
endfunction()

# tg_embed_texts(TARGET file ...): makes generated/FILE.inc of each file, a literal that a source of the
# target includes. For texts of other languages, such as a script of a page.
function(tg_embed_texts target)
  foreach(file ${ARGN})
    set(out ${CMAKE_BINARY_DIR}/generated/${file}.inc)
    add_custom_command(OUTPUT ${out}
      COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DFILES=${file} -DROOT=${CMAKE_SOURCE_DIR}
              -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
      DEPENDS ${file} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
    target_sources(${target} PRIVATE ${out})
  endforeach()
endfunction()

# tg_backend(TARGET NAME SWITCH LIBRARY): if the switch is on, adds api/backends/NAME.cpp, a row of
# api/backends/backends.h. tg_backends_done() then writes the list of all backends.
function(tg_backend target name switch library)
  string(SUBSTRING ${name} 0 1 initial) # of the enumerator, such as Ref
  string(SUBSTRING ${name} 1 -1 rest)
  string(TOUPPER ${initial} initial)
  set(id ${initial}${rest})
  if(switch STREQUAL "ALWAYS" OR ${switch})
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/compiler/api/backends/${name}.cpp)
    target_link_libraries(${target} PUBLIC ${library})
    set_property(GLOBAL APPEND_STRING PROPERTY tg_backend_rows "TG_BACKEND(${name}, ${id})\n")
  else()
    message(STATUS "The ${name} backend is left out (${switch} is off)")
    set_property(GLOBAL APPEND_STRING PROPERTY tg_backend_rows "TG_NO_BACKEND(${name}, ${id}, ${switch})\n")
  endif()
endfunction()

function(tg_backends_done)
  get_property(rows GLOBAL PROPERTY tg_backend_rows)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/tangram/tables/backends.def CONTENT "${rows}" @ONLY)
endfunction()

# tg_public_tables(TARGET FILE ...): copies tables that the public header includes to tangram/tables/NAME.def.
function(tg_public_tables target)
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    configure_file(${CMAKE_SOURCE_DIR}/${file} ${CMAKE_BINARY_DIR}/include/tangram/tables/${name} COPYONLY)
  endforeach()
  target_include_directories(${target} PUBLIC ${CMAKE_BINARY_DIR}/include)
endfunction()

# tg_program(NAME DIR folder [ONLY file ...] [OUT folder] DEPS ...): an executable of folder/*.cpp. ONLY: only
# the named files; OUT: a folder of the build tree (default: its top).
function(tg_program name)
  cmake_parse_arguments(ARG "" "DIR;OUT" "ONLY;DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${ARG_DIR}/*.cpp)
  if(ARG_ONLY)
    list(TRANSFORM ARG_ONLY PREPEND ${CMAKE_SOURCE_DIR}/${ARG_DIR}/ OUTPUT_VARIABLE sources)
  endif()
  add_executable(${name} ${sources})
  target_compile_options(${name} PRIVATE ${TG_WARNINGS} ${TG_OUR_DIALECT})
  tg_precompile(${name} tg_pch)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  tg_link(${name} PRIVATE ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${ARG_OUT})
endfunction()
