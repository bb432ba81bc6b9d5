#include "lib/report/diagnosis/log_scan.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "lib/base/text/text.h"
#include "lib/report/diagnosis/patterns.h"

namespace torc::report {
namespace {

constexpr std::size_t kLongestLine = 300;
constexpr std::int64_t kMemory = 64 << 20;  // of all patterns together

RE2::Options options() {
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  options.set_max_mem(kMemory);
  return options;
}

// (?m): ^ and $ are those of lines.
std::string of_lines(std::string_view expression) {
  return "(?m)" + std::string(expression);
}

std::string_view line_around(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return text.substr(begin, std::min(text.find('\n', at), text.size()) - begin);
}

std::string cut(std::string_view line) {
  line = trimmed(line);
  return std::string(line.substr(0, kLongestLine)) + (line.size() > kLongestLine ? "…" : "");
}

bool by_cause(const Sign& a, const Sign& b) {
  return a.cause < b.cause;
}

}  // namespace

struct LogScan::Compiled {
  RE2::Set any{options(), RE2::UNANCHORED};
  std::vector<std::unique_ptr<RE2>> each;
};

LogScan::LogScan() : compiled_(std::make_unique<Compiled>()) {
  for (const Pattern& p : patterns()) {
    compiled_->any.Add(of_lines(p.expression), nullptr);
    compiled_->each.push_back(std::make_unique<RE2>(of_lines(p.expression), options()));
  }
  compiled_->any.Compile();
}

LogScan::~LogScan() = default;

std::vector<Sign> LogScan::signs_in(std::string_view text) const {
  std::vector<int> met;
  RE2::Set::ErrorInfo error{};
  if (!compiled_->any.Match(text, &met, &error) && error.kind != RE2::Set::kNoError) {
    // Out of its memory: one at a time they take longer, and say the same.
    met.clear();
    for (std::size_t i = 0; i < compiled_->each.size(); ++i) met.push_back(static_cast<int>(i));
  }
  struct Found {
    Cause cause;
    int pattern;
    std::string_view line;
  };
  std::vector<Found> found;
  for (const int i : met) {
    re2::StringPiece where;
    const auto number = static_cast<std::size_t>(i);
    if (!compiled_->each[number]->Match(text, 0, text.size(), RE2::UNANCHORED, &where, 1)) continue;
    found.push_back({patterns()[number].cause, i,
                     line_around(text, static_cast<std::size_t>(where.data() - text.data()))});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.cause, a.pattern) < std::tie(b.cause, b.pattern);
  });
  std::vector<Sign> signs;
  std::set<const char*> taken;
  for (const Found& f : found) {
    const bool again = !signs.empty() && signs.back().cause == f.cause;
    if (again || !taken.insert(f.line.data()).second) continue;
    signs.push_back({f.cause, cut(f.line)});
  }
  return signs;
}

void settle(std::vector<Sign>& signs) {
  std::stable_sort(signs.begin(), signs.end(), by_cause);
  const auto same = [](const Sign& a, const Sign& b) { return a.cause == b.cause; };
  signs.erase(std::unique(signs.begin(), signs.end(), same), signs.end());
  const auto is_general = [](const Sign& s) { return row_of(s.cause).general; };
  // Of general ones the first says most.
  if (signs.empty()) return;
  const auto first = std::find_if(signs.begin(), signs.end(), is_general);
  if (first == signs.end()) return;
  signs.erase(first == signs.begin() ? first + 1 : first, signs.end());
}

}  // namespace torc::report
