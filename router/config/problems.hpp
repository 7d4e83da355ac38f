#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/config/config.hpp"

namespace fareway {

/// Why a text is not the value it should be, and what would be right. Never holds a secret.
struct Complaint {
  std::string what;
};

/// A value, or why there is none. (boost::system::result refuses to hold strings beside an error made of a
/// string.)
template <class T>
class Checked {
 public:
  using value_type = T;
  Checked(T value) : value_(std::move(value)) {}
  Checked(Complaint complaint) : complaint_(std::move(complaint)) {}

  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  const Complaint& error() const { return complaint_; }

 private:
  std::optional<T> value_;
  Complaint complaint_;
};

/// Collects what is wrong with one file, so that all of it is reported at once.
class Problems {
 public:
  void add(int line, std::string path, std::string what);
  std::size_t count() const { return found_.size(); }
  bool empty() const { return found_.empty(); }
  /// In the order of lines. Past a hundred only their number is told: nobody reads more at a time.
  std::vector<ConfigProblem> sorted() const;

 private:
  std::vector<ConfigProblem> found_;
};

/// Text of the file as a message may show it: in quotes, on one line, cut after 60 bytes.
std::string in_quotes(std::string_view text);

/// "a, b, c", cut after a dozen.
std::string listed(std::span<const std::string> names);

/// `did you mean "tpot"?` where a candidate is close, else "known: ..."; what to do about a name that does
/// not exist.
std::string suggestion(std::string_view text, std::span<const std::string> candidates);

}  // namespace fareway
