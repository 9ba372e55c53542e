# Copies the shared libraries that the installed module needs into tangram/lib, with the licence texts and the bill
# of materials of all that it carries. What every Linux of that age has stays its own (the list of manylinux).
#
# libgomp keeps its name: PyTorch brings one of the same, and the loader takes whichever is there first for
# both, so that there is one pool of threads. Sanitizers are preloaded, and there must be one of each.
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
