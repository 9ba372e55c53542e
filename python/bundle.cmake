# Copies the shared libraries that the installed module needs into tangram/lib, each with the licence of the
# package that it is of. What every Linux of that age has stays its own (the list of manylinux).
#
# libgomp keeps its name: PyTorch brings one of the same, and the loader takes whichever is there first for
# both, so that there is one pool of threads.
set(here ${CMAKE_INSTALL_PREFIX}/tangram)
file(GLOB module ${here}/_core*.so)
file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${module} RESOLVED_DEPENDENCIES_VAR found
     UNRESOLVED_DEPENDENCIES_VAR missing
     PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+|z)\\.so" "^ld-linux" "^libpython")
if(missing)
  message(FATAL_ERROR "libraries that the module needs are not there: ${missing}")
endif()
foreach(library ${found})
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} real)
  file(INSTALL ${real} DESTINATION ${here}/lib RENAME ${name})
  # By its name: dpkg knows some below /lib, which is a link to /usr/lib.
  get_filename_component(file ${real} NAME)
  execute_process(COMMAND dpkg -S */${file} OUTPUT_VARIABLE owner ERROR_QUIET)
  string(REGEX REPLACE ":.*" "" package "${owner}")
  if(EXISTS /usr/share/doc/${package}/copyright)
    file(INSTALL /usr/share/doc/${package}/copyright DESTINATION ${here}/lib/licenses RENAME ${package}.txt)
  else()
    message(FATAL_ERROR "no licence of ${library} was found")
  endif()
endforeach()
# Of what is linked statically, too.
foreach(package llvm-14-dev libxbyak-dev)
  if(EXISTS /usr/share/doc/${package}/copyright)
    file(INSTALL /usr/share/doc/${package}/copyright DESTINATION ${here}/lib/licenses RENAME ${package}.txt)
  endif()
endforeach()
find_program(STRIP strip)
file(GLOB libraries ${here}/lib/*.so*)
execute_process(COMMAND ${STRIP} --strip-unneeded ${module} ${libraries})
