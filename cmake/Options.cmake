# Flags every target of ours takes through `fareway_options`; nothing leaks into dependencies.
add_library(fareway_options INTERFACE)
target_include_directories(fareway_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(fareway_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # A designated initialiser names what it sets; every other member has its default.
  -Wno-missing-field-initializers
  # clang 19 blames us for what libstdc++ 12's stable_sort calls; g++ still reports every deprecated use of ours.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  # g++ 12 sees overlapping copies in std::string's operator+ once it optimises (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>)
# simdjson's on-demand reader picks its kernel when it is compiled: without AVX2 it falls back to bytewise scanning. Every
# x86 server that hosts these accelerators has it.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  target_compile_options(fareway_options INTERFACE $<$<CONFIG:Release>:-march=x86-64-v3>)
endif()
# The same source compiles to the same bytes in every checkout, so a compiler cache can share.
target_compile_options(fareway_options INTERFACE
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
target_link_options(fareway_options INTERFACE -fuse-ld=mold)

if(FAREWAY_SANITIZE)
  if(FAREWAY_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Asio's fences are invisible to the sanitizer, which g++ says at each; its queues hold mutexes as well. And with this
    # instrumentation g++ 12 takes the frame of a coroutine for memory that was never allocated.
    target_compile_options(fareway_options INTERFACE -Wno-tsan -Wno-mismatched-new-delete -Wno-free-nonheap-object)
  endif()
  target_compile_options(fareway_options INTERFACE
    -fsanitize=${FAREWAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(fareway_options INTERFACE -fsanitize=${FAREWAY_SANITIZE})
endif()

# fareway_library(NAME SOURCES... LINKS...): one library for one folder, with its own link list.
function(fareway_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE fareway_options ${arg_PRIVATE_LINKS})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
endfunction()

# fareway_test(NAME SOURCES... LINKS...): one GoogleTest binary, each TEST its own ctest entry, named after the build
# ("asan.Meter.SplitsByWeight") because ./test runs several builds in one ctest.
cmake_path(GET CMAKE_BINARY_DIR FILENAME fareway_build)
function(fareway_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} fareway_options GTest::gmock_main)
  target_compile_definitions(${name} PRIVATE FAREWAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  gtest_discover_tests(${name} TEST_PREFIX ${fareway_build}. DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
