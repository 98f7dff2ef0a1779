# What hawk-core is built with. Packages that nothing works without are looked for here, all of them
# before the first complaint, so that one message names everything to install. A feature that can be
# left out says so through hawk_left_out(), and the end of the configuration lists them.

set(HAWK_MISSING "")

# hawk_need_library(PREFIX MODULE PACKAGE): target PkgConfig::PREFIX from pkg-config's MODULE, which
# comes with Debian's PACKAGE.
macro(hawk_need_library prefix module package)
  pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${prefix}_FOUND)
    list(APPEND HAWK_MISSING ${package})
  endif()
endmacro()

# hawk_want_library(PREFIX MODULE PACKAGE FEATURE): the same for a library that only FEATURE needs.
macro(hawk_want_library prefix module package feature)
  pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${prefix}_FOUND)
    hawk_left_out("${feature}" ${package})
  endif()
endmacro()

function(hawk_left_out feature package)
  set_property(GLOBAL APPEND PROPERTY HAWK_LEFT_OUT "${feature} (${package})")
endfunction()

function(hawk_list_left_out)
  get_property(features GLOBAL PROPERTY HAWK_LEFT_OUT)
  foreach(feature IN LISTS features)
    message(STATUS "Left out, package missing: ${feature}")
  endforeach()
endfunction()

function(hawk_stop_if_missing)
  if(HAWK_MISSING)
    list(JOIN HAWK_MISSING " " packages)
    message(FATAL_ERROR "hawk-core needs packages that are not installed. On Debian:\n"
      "  apt install ${packages}\n")
  endif()
endfunction()

include(CheckLanguage)
foreach(language C CXX)
  check_language(${language})
endforeach()
if(NOT CMAKE_C_COMPILER)
  list(APPEND HAWK_MISSING gcc)
endif()
if(NOT CMAKE_CXX_COMPILER) # samples and tests
  list(APPEND HAWK_MISSING g++)
endif()
hawk_stop_if_missing()
enable_language(C)
enable_language(CXX)

find_package(PkgConfig QUIET)
if(NOT PkgConfig_FOUND)
  list(APPEND HAWK_MISSING pkg-config)
  hawk_stop_if_missing()
endif()
# libdw's own module asks for zlib and liblzma: without them pkg-config does not find it.
hawk_need_library(ZLIB zlib zlib1g-dev)
hawk_need_library(LIBLZMA liblzma liblzma-dev)
hawk_need_library(LIBELF libelf libelf-dev)
hawk_need_library(LIBDW libdw libdw-dev)
hawk_need_library(XXHASH libxxhash libxxhash-dev)
hawk_need_library(SQLITE3 sqlite3 libsqlite3-dev)
hawk_need_library(LIBEDIT libedit libedit-dev)
hawk_need_library(JANSSON jansson libjansson-dev)
hawk_need_library(SECCOMP libseccomp libseccomp-dev)
hawk_need_library(PROTOBUF_C libprotobuf-c libprotobuf-c-dev)
find_program(HAWK_PROTOC_C protoc-c)
mark_as_advanced(HAWK_PROTOC_C)
if(NOT HAWK_PROTOC_C)
  list(APPEND HAWK_MISSING protobuf-c-compiler)
endif()
find_path(HAWK_IBERTY_INCLUDE libiberty/demangle.h)
find_library(HAWK_IBERTY iberty)
mark_as_advanced(HAWK_IBERTY_INCLUDE HAWK_IBERTY)
if(NOT HAWK_IBERTY_INCLUDE OR NOT HAWK_IBERTY)
  list(APPEND HAWK_MISSING libiberty-dev)
endif()
hawk_stop_if_missing()
find_package(Threads REQUIRED)
