#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fareway::test {

/// Folder of recorded engine answers. They are not part of the repository: the tests that read them are
/// skipped where the folder is missing, and smaller inline samples cover the same behaviour.
inline std::filesystem::path samples_folder() {
  const char* named = std::getenv("FAREWAY_SHARED");
  const std::filesystem::path shared = named != nullptr
                                           ? std::filesystem::path(named)
                                           : std::filesystem::path(FAREWAY_SOURCE_DIR) / ".." / "shared";
  return shared / "engines";
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace fareway::test

/// Skips the test where the recorded answers are not there.
#define FAREWAY_NEEDS_SAMPLES()                                                                  \
  if (!std::filesystem::exists(::fareway::test::samples_folder())) {                             \
    GTEST_SKIP() << "no recorded engine answers; FAREWAY_SHARED names the folder that has them"; \
  }                                                                                              \
  static_assert(true)
