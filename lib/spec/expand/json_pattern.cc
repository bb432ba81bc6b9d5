#include "lib/spec/expand/json_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/spec/text/placeholder.h"

namespace torc::spec {
namespace {

// Behind the closing quote of the text that begins at `at`.
std::size_t end_of_text(std::string_view json, std::size_t at) {
  ++at;
  while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return std::min(at + 1, json.size());
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
}

}  // namespace

std::optional<JsonPattern> JsonPattern::compile(const UserDataEntry& entry, Report& report) {
  JsonPattern all;
  const std::string_view json = entry.data;
  std::size_t done = 0;
  for (std::size_t at = json.find('"'); at < json.size(); at = json.find('"', at)) {
    const std::size_t begin = at;
    at = end_of_text(json, begin);
    if (entry.parameters.empty() || (at < json.size() && json[at] == ':')) continue;
    const std::string_view text = json.substr(begin, at - begin);
    if (auto bad = find_bad_placeholders(text, entry.parameters); !bad.empty()) {
      report.error(place_within(report.source(), entry.place_of("data"), entry.data,
                                begin + bad[0].begin, bad[0].end - bad[0].begin),
                   bad[0].error.what, bad[0].error.remedy);
      return {};
    }
    for (const Placeholder& p : placeholders(text)) {
      const auto value = Pattern::compile(text.substr(p.begin, p.end - p.begin), entry.parameters);
      if (!value || !value->has_parameters()) continue;
      all.parts_.push_back({json.substr(done, begin + p.begin - done), *value});
      done = begin + p.end;
    }
  }
  all.parts_.push_back({json.substr(done), {}});
  return all;
}

std::string JsonPattern::text(const Family& family, std::uint64_t k) const {
  std::string out;
  for (const Part& part : parts_) {
    out += part.json;
    if (part.value) append_escaped(out, family.filled(*part.value, k));
  }
  return out;
}

}  // namespace torc::spec
