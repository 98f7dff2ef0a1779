# The command reads files of strangers: stacks are checked, copies are bounded, and nothing that leads
# to code can be written once it runs. Not together with sanitizers, which do the same and more.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckPIESupported)

# hawk_harden(): options for everything that is compiled and linked in this folder and below.
function(hawk_harden)
  check_pie_supported(LANGUAGES C)
  foreach(flag -fstack-protector-strong -fstack-clash-protection)
    string(MAKE_C_IDENTIFIER "HAWK_HAS${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
      add_compile_options(${flag})
    endif()
  endforeach()
  # Level 3 needs a compiler and a C library that know it; without optimization there is none.
  set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_c_source_compiles("#include <stdio.h>
    #if __USE_FORTIFY_LEVEL < 3
    #error not known
    #endif
    int main(void) { return 0; }" HAWK_HAS_FORTIFY_3)
  set(level $<IF:$<BOOL:${HAWK_HAS_FORTIFY_3}>,3,2>)
  add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
    $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=${level}>)
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endfunction()
