#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fareway {

/// A CSV file with a header line and quoted fields (RFC 4180), held whole: the data sets have a few thousand
/// rows.
class CsvTable {
 public:
  /// Throws std::runtime_error with file and line where it cannot be read or a row has other than the
  /// header's number of fields.
  static CsvTable read(const std::filesystem::path& file);

  std::size_t rows() const { return rows_.size(); }
  /// Throws std::runtime_error where there is no such column.
  const std::string& text(std::size_t row, std::string_view column) const;
  /// Nothing where the field is empty or no number.
  std::optional<double> number(std::size_t row, std::string_view column) const;

 private:
  std::filesystem::path file_;
  std::unordered_map<std::string, std::size_t> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace fareway
