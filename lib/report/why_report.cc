#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/text/quote.h"
#include "lib/report/job_view.h"
#include "lib/report/why.h"

namespace torc::report {
namespace {

// Lines of at most `columns`, broken between words; a longer word stays whole.
std::string wrapped(std::string_view text, std::size_t columns) {
  std::string out;
  std::size_t used = 0;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!first && used + 1 + word.size() > columns) {
      out += '\n';
      used = 0;
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
    first = false;
  }
  return out;
}

}  // namespace

std::string to_text(const Explanation& found, std::size_t columns) {
  std::string out = fmt::format("{} (#{}) is {}\n", printable(found.name), raw(found.id),
                                claim::to_string(found.job.state));
  for (const Reason& r : found.reasons)
    out += fmt::format("\n{}\n  what helps: {}\n", wrapped(r.text, columns), r.remedy);
  return out;
}

nlohmann::ordered_json to_json(const claim::Reader& reader, workflow::RecipeBook& book,
                               const Explanation& found) {
  nlohmann::ordered_json out = job_json(reader, book, found.id, found.job);
  nlohmann::ordered_json reasons = nlohmann::ordered_json::array();
  for (const Reason& r : found.reasons)
    reasons.push_back({{"kind", r.kind}, {"message", r.text}, {"remedy", r.remedy}});
  out["reasons"] = std::move(reasons);
  return out;
}

}  // namespace torc::report
