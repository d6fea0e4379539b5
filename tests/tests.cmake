# Test programs: tests/unit/<floor>/test_<file>.c -> build/tests/unit/<floor>-<file>;
# support programs and check tools -> build/tests/<name>.
enable_testing()
function(unit floor)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/${floor}/test_*.c)
  foreach(test ${tests})
    get_filename_component(name ${test} NAME_WE)
    string(REPLACE "test_" "" name ${name})
    add_executable(unit-${floor}-${name} ${test})
    target_link_libraries(unit-${floor}-${name} PRIVATE ${ARGN} PkgConfig::CHECK)
    set_target_properties(unit-${floor}-${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/unit OUTPUT_NAME ${floor}-${name})
    add_test(NAME unit/${floor}/${name} COMMAND unit-${floor}-${name})
  endforeach()
endfunction()
unit(base base)
unit(proto proto worker)
unit(schema schema)
unit(loop loop)
unit(supervisor supervisor)
unit(model model)
unit(tool tool)
unit(cli cli)

# What support programs and system tests share.
file(GLOB support CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/support/lib/*.c)
if(support)
  add_library(support STATIC EXCLUDE_FROM_ALL ${support})
  target_link_libraries(support PUBLIC model supervisor)
else()
  add_library(support INTERFACE)
  target_link_libraries(support INTERFACE model supervisor)
endif()

# Programs of one file each: tests/support/<name>.c -> build/tests/<name>,
# tests/system/<name>.c -> build/tests/system/<name>.
set(programs reeved reeve reeve-model reeve-tool)
function(test_programs folder output)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.c)
  foreach(file ${sources})
    get_filename_component(name ${file} NAME_WE)
    string(REPLACE "_" "-" name ${name})
    add_executable(${folder}-${name} ${file})
    target_link_libraries(${folder}-${name} PRIVATE support PkgConfig::CHECK)
    set_target_properties(${folder}-${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${output} OUTPUT_NAME ${name})
    list(APPEND programs ${folder}-${name})
  endforeach()
  set(programs ${programs} PARENT_SCOPE)
endfunction()
test_programs(support tests)
test_programs(system tests/system)
test_programs(bench tests/bench)

# A tool for boxes: it alone, without the libraries of the others.
set_target_properties(support-bench-tool PROPERTIES LINK_LIBRARIES "")
if(NOT REEVE_SANITIZE AND NOT REEVE_FUZZ)
  target_link_options(support-bench-tool PRIVATE -static-pie)
endif()

# What deploy/quickstart, unit and system tests start: no unit tests.
add_custom_target(programs DEPENDS ${programs})

if(REEVE_FUZZ)
  file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
  foreach(file ${fuzzers})
    get_filename_component(name ${file} NAME_WE)
    add_executable(${name} ${file})
    target_link_libraries(${name} PRIVATE model)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  endforeach()
endif()
