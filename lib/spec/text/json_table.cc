#include "lib/spec/text/json_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/text/utf8.h"

namespace torc::spec {
namespace {

using Json = nlohmann::json;
using Part = JsonTable::Part;

constexpr std::string_view kForms = "write a list of objects, or an object of lists";

// Events rather than a tree of the library's: that has forgotten how numbers were written.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  JsonTable table;
  std::size_t bad_at = 0;
  std::string reason;
  bool is_scalar = false;

  bool null() override { return add(JsonCell::Kind::other, {}); }
  bool boolean(bool value) override {
    return add(JsonCell::Kind::boolean, value ? "true" : "false");
  }
  bool number_integer(number_integer_t value) override {
    // Of all that the library takes for an integer only this one is written otherwise.
    return add(JsonCell::Kind::number, value == 0 ? "-0" : fmt::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add(JsonCell::Kind::number, fmt::to_string(value));
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    return add(JsonCell::Kind::number, text);
  }
  bool string(string_t& text) override { return add(JsonCell::Kind::text, std::move(text)); }
  bool binary(binary_t& /*value*/) override { return false; }  // not in texts
  bool key(string_t& key) override {
    key_ = std::move(key);
    return true;
  }
  bool start_object(std::size_t /*size*/) override { return open(Part::Kind::object); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(Part::Kind::list); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& why) override {
    bad_at = position == 0 ? 0 : position - 1;
    // "[json.exception…] parse error at line 1, column 2: syntax error while …; last read: …"
    reason = why.what();
    const std::size_t column = reason.find("column ");
    const std::size_t begin = column == std::string::npos ? 0 : reason.find(": ", column) + 2;
    reason = reason.substr(begin, reason.find("; last read") - begin);
    return false;
  }

 private:
  bool add(JsonCell::Kind kind, std::string text) {
    if (depth_ == 0) is_scalar = true;
    if (depth_ == 1) table.parts.push_back({Part::Kind::cell, std::exchange(key_, {}), {}});
    if (depth_ == 2)
      table.parts.back().cells.emplace_back(std::exchange(key_, {}),
                                            JsonCell{kind, std::move(text)});
    return true;
  }
  bool open(Part::Kind kind) {
    if (depth_ == 0) table.is_object = kind == Part::Kind::object;
    if (depth_ == 1) table.parts.push_back({kind, std::exchange(key_, {}), {}});
    if (depth_ == 2) add(JsonCell::Kind::other, {});
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  std::string key_;
  std::size_t depth_ = 0;
};

}  // namespace

Result<JsonTable> read_json_table(std::string_view text) {
  Reader reader;
  const bool sound = Json::sax_parse(text.begin(), text.end(), &reader);
  if (sound && !reader.is_scalar) return std::move(reader.table);
  if (sound) return invalid("the table is one value", std::string(kForms));
  const std::string_view before = text.substr(0, std::min(reader.bad_at, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  return Error{
      ErrorKind::invalid,
      fmt::format("the table is not valid JSON: line {}, column {}: {}", lines + 1,
                  count_characters(before.substr(before.rfind('\n') + 1)) + 1, reader.reason),
      std::string(kForms)};
}

}  // namespace torc::spec
