# Copies the shared libraries that the installed module needs into tangram/lib,
# with the licence texts and the bill of materials of all contents.
# Libraries that every Linux of that age provides are not bundled (the list of manylinux).
#
# libgomp keeps its name: PyTorch brings the same library, and the loader uses the first one loaded
# for both, so that there is one thread pool. Sanitizers are preloaded, and there
# must be only one of each.
set(here ${CMAKE_INSTALL_PREFIX}/tangram)
file(GLOB module ${here}/_core*.so)
file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${module} RESOLVED_DEPENDENCIES_VAR found
     UNRESOLVED_DEPENDENCIES_VAR missing
     PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+|z|asan|ubsan)\\.so" "^ld-linux" "^libpython")
if(missing)
  message(FATAL_ERROR "libraries that the module needs are not there: ${missing}")
endif()
foreach(library ${found})
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} real)
  file(INSTALL ${real} DESTINATION ${here}/lib RENAME ${name})
endforeach()
execute_process(COMMAND ${python} ${root}/cmake/release/contents.py ${build} --into ${here}/lib
                        --nanobind ${nanobind} --module ${found}
                COMMAND_ERROR_IS_FATAL ANY)
find_program(STRIP strip)
file(GLOB libraries ${here}/lib/*.so*)
execute_process(COMMAND ${STRIP} --strip-unneeded ${module} ${libraries})
