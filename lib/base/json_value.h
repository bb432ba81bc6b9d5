// What all documents that torc prints as JSON write alike: null for what is not known or is not
// there, one unit for times and durations (docs/user/commands.md, "What --json looks like").
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "lib/base/clock.h"

namespace torc {

// null where it is not known.
template <class Value>
nlohmann::ordered_json json_if(bool is_known, const Value& value) {
  return is_known ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

// null where it is 0 or empty, as its type says for "there is none".
template <class Value>
nlohmann::ordered_json json_or_null(const Value& value) {
  return json_if(value != Value{}, value);
}

// Seconds, with fractions.
template <class Rep, class Period>
double json_seconds(std::chrono::duration<Rep, Period> time) {
  return std::chrono::duration<double>(time).count();
}

// Seconds since 1970-01-01 00:00 UTC, with fractions; null: it has not come to that.
inline nlohmann::ordered_json json_time(WallTime at) {
  return json_if(at != WallTime{}, json_seconds(at));
}

// "open files", "given-to-all": as keys and values of JSON have them, "open_files".
inline std::string json_word(std::string_view text) {
  std::string word(text);
  for (char& c : word) {
    if (c == ' ' || c == '-') c = '_';
  }
  return word;
}

}  // namespace torc
