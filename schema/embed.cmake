# Puts every statement and migration into the binary:
# queries/NAME.sql -> const char query_NAME[], migrations/NNNN_NAME.sql ->
# rows of migrations[]. Run as a script it writes OUT; included it adds the rule.
if(CMAKE_SCRIPT_MODE_FILE)
  function(literal text var)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n\t\"" text "${text}")
    set(${var} "\"${text}\"" PARENT_SCOPE)
  endfunction()
  set(code "/* Written by schema/embed.cmake. */\n#include \"schema/embedded.h\"\n\n")
  file(GLOB queries ${DIR}/queries/*.sql)
  foreach(file ${queries})
    file(READ ${file} text)
    get_filename_component(name ${file} NAME_WE)
    literal("${text}" quoted)
    string(APPEND code "const char query_${name}[] =\n\t${quoted};\n\n")
  endforeach()
  file(GLOB migrations ${DIR}/migrations/*.sql)
  list(SORT migrations)
  string(APPEND code "const struct migration migrations[] = {\n")
  foreach(file ${migrations})
    file(READ ${file} text)
    get_filename_component(name ${file} NAME_WE)
    string(REGEX MATCH "^[0-9]+" version ${name})
    string(REGEX REPLACE "^0+" "" version ${version})
    literal("${text}" quoted)
    string(APPEND code "\t{ ${version}, \"${name}\",\n\t${quoted} },\n")
  endforeach()
  list(LENGTH migrations count)
  string(APPEND code "};\nconst size_t migration_count = ${count};\n")
  file(WRITE ${OUT} "${code}")
  return()
endif()

file(GLOB schema_sql CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/schema/queries/*.sql
  ${CMAKE_SOURCE_DIR}/schema/migrations/*.sql)
set(schema_embedded ${CMAKE_BINARY_DIR}/generated/embedded.c)
add_custom_command(OUTPUT ${schema_embedded}
  COMMAND ${CMAKE_COMMAND} -DDIR=${CMAKE_SOURCE_DIR}/schema -DOUT=${schema_embedded}
    -P ${CMAKE_SOURCE_DIR}/schema/embed.cmake
  DEPENDS ${schema_sql} ${CMAKE_SOURCE_DIR}/schema/embed.cmake)
set_source_files_properties(${schema_embedded} PROPERTIES COMPILE_OPTIONS
  "-Wno-overlength-strings")
target_sources(schema PRIVATE ${schema_embedded})
