#include "bench/fits/csv.hpp"

#include <charconv>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace fareway {
namespace {

/// The fields of one line. No field of these data sets spans lines.
std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (letter == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (letter == ',' && !quoted) {
      fields.emplace_back();
    } else if (letter != '\r') {
      fields.back() += letter;
    }
  }
  return fields;
}

}  // namespace

CsvTable CsvTable::read(const std::filesystem::path& file) {
  std::ifstream stream{file};
  if (!stream) throw std::runtime_error(fmt::format("{}: cannot be read", file.string()));
  CsvTable table;
  table.file_ = file;
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    std::vector<std::string> fields = split(line);
    if (number == 1) {
      for (std::size_t i = 0; i < fields.size(); ++i) table.columns_.emplace(fields[i], i);
    } else if (fields.size() != table.columns_.size()) {
      throw std::runtime_error(fmt::format("{}:{}: {} fields; the header has {}", file.string(), number,
                                           fields.size(), table.columns_.size()));
    } else {
      table.rows_.push_back(std::move(fields));
    }
  }
  return table;
}

const std::string& CsvTable::text(std::size_t row, std::string_view column) const {
  const auto found = columns_.find(std::string{column});
  if (found == columns_.end())
    throw std::runtime_error(fmt::format("{}: no column \"{}\"", file_.string(), column));
  return rows_.at(row)[found->second];
}

std::optional<double> CsvTable::number(std::size_t row, std::string_view column) const {
  const std::string& field = text(row, column);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
  return value;
}

}  // namespace fareway
