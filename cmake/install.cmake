# `cmake --install`: the program, the public header, our static libraries, a CMake package, and the
# same for pkg-config. The component `program` is the first alone.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
# Those that use others first.
get_property(TG_ARCHIVES GLOBAL PROPERTY tg_archives)
list(REVERSE TG_ARCHIVES)
list(REMOVE_ITEM TG_ARCHIVES tg_cli) # the program's own
install(TARGETS ${TG_ARCHIVES} ARCHIVE DESTINATION lib/tangram)
list(TRANSFORM TG_ARCHIVES REPLACE "(.+)" "\${libdir}/lib\\1.a" OUTPUT_VARIABLE TG_PC_ARCHIVES)
list(JOIN TG_PC_ARCHIVES " " TG_PC_ARCHIVES)
list(JOIN TG_ARCHIVES " " TG_ARCHIVES)
set(TG_DNNL "")
set(TG_PC_DNNL "")
if(TG_ONEDNN)
  set(TG_DNNL "dnnl OpenMP::OpenMP_CXX")
  set(TG_PC_DNNL "-ldnnl ${OpenMP_CXX_FLAGS}")
endif()
set(TG_Z3 "")
set(TG_PC_Z3 "")
if(Z3_INCLUDE_DIR AND Z3_LIBRARY)
  set(TG_Z3 "z3")
  set(TG_PC_Z3 "-lz3")
endif()
get_filename_component(TG_PC_PROTOBUF ${PROTOBUF_LITE_LIBRARY} NAME)
set(TG_PC_PROTOBUF "-l:${TG_PC_PROTOBUF}")
set(TG_PC_LLVM "${LLVM_libdir}/libLLVMSupport.a ${LLVM_libdir}/libLLVMDemangle.a")
set(package ${CMAKE_BINARY_DIR}/package)
configure_file(cmake/tangramConfig.cmake.in ${package}/tangramConfig.cmake @ONLY)
write_basic_package_version_file(${package}/tangramConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${package}/tangramConfig.cmake ${package}/tangramConfigVersion.cmake
              cmake/tangram.cmake DESTINATION lib/cmake/tangram)
configure_file(cmake/tangram.pc.in ${package}/tangram.pc @ONLY)
install(FILES ${package}/tangram.pc DESTINATION lib/pkgconfig)
install(DIRECTORY compiler/driver/include/tangram ${CMAKE_BINARY_DIR}/include/tangram DESTINATION include)
install(FILES LICENSE NOTICE DESTINATION share/doc/tangram COMPONENT program)
install(TARGETS tg RUNTIME DESTINATION bin COMPONENT program)
# What the program says of itself: completion of shells, and the man page.
set(share ${CMAKE_BINARY_DIR}/share)
set(tg_bash bash-completion/completions/tg)
set(tg_zsh zsh/site-functions/_tg)
set(tg_fish fish/vendor_completions.d/tg.fish)
foreach(file ${tg_bash} ${tg_zsh} ${tg_fish} man/man1/tg.1)
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${share}/${folder})
  install(FILES ${share}/${file} DESTINATION share/${folder} COMPONENT program)
endforeach()
add_custom_command(TARGET tg POST_BUILD
  COMMAND tg help --completion bash > ${share}/${tg_bash}
  COMMAND tg help --completion zsh > ${share}/${tg_zsh}
  COMMAND tg help --completion fish > ${share}/${tg_fish}
  COMMAND tg help --man > ${share}/man/man1/tg.1)
