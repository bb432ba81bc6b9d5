#include "lib/launcher/generic_answer.h"

#include <re2/re2.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "lib/base/number.h"
#include "lib/base/text/text.h"
#include "lib/launcher/missing_program.h"
#include "lib/slurm/squeue.h"

namespace torc::launcher {
namespace {

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

bool matches(const Pattern& pattern, std::string_view text) {
  return pattern && RE2::PartialMatch(piece(text), *pattern);
}

bool one_matches(const Patterns& patterns, std::string_view text) {
  return std::ranges::any_of(patterns, [&](const auto& one) { return matches(one, text); });
}

std::string group(const Pattern& pattern, std::string_view text) {
  std::string found;
  if (pattern) RE2::PartialMatch(piece(text), *pattern, &found);
  return std::string(trimmed(found));
}

std::vector<std::string_view> lines_in(std::string_view text) {
  std::vector<std::string_view> lines;
  for (const auto line : split(text, '\n')) {
    if (!trimmed(line).empty()) lines.push_back(trimmed(line));
  }
  return lines;
}

WallTime time_in(const Answer& answer, const Pattern& field, std::string_view record) {
  const std::string text = group(field, record);
  if (answer.times.empty()) return slurm::time_of(text).value_or(WallTime{});
  std::tm parts{};
  if (strptime(text.c_str(), answer.times.c_str(), &parts) == nullptr) return {};
  parts.tm_isdst = -1;
  return slurm::epoch_seconds(std::to_string(std::mktime(&parts))).value_or(WallTime{});
}

std::string joined(const std::string& text, const std::string& continued) {
  if (continued.empty()) return text;
  std::string out;
  for (std::size_t at = 0;;) {
    const auto next = text.find(continued, at);
    out.append(text, at, next - at);
    if (next == std::string::npos) return out;
    at = next + continued.size();
  }
}

// Where the beginning, or the end, of a text is what it has to be: what is left of it.
bool cut_off(const Pattern& begins, const Pattern& ends, std::string_view& text) {
  if (begins) {
    re2::StringPiece rest = piece(text);
    if (!RE2::Consume(&rest, *begins)) return false;
    text.remove_prefix(text.size() - rest.size());
  }
  if (!ends) return true;
  // The last place where it stands.
  re2::StringPiece rest = piece(text);
  re2::StringPiece found;
  std::size_t at = std::string_view::npos;
  while (ends->Match(rest, 0, rest.size(), RE2::UNANCHORED, &found, 1)) {
    at = static_cast<std::size_t>(found.data() - text.data());
    const bool is_end = at + found.size() == text.size();
    if (is_end) {
      text = text.substr(0, at);
      return true;
    }
    const std::size_t next = at + std::max<std::size_t>(found.size(), 1);
    rest = piece(text.substr(next));
  }
  return false;
}

slurm::Stage stage_in(const Definition& definition, const std::string& state) {
  for (const auto& [pattern, stage] : definition.stages) {
    if (RE2::FullMatch(state, *pattern)) return stage;
  }
  return slurm::Stage::other;
}

// False: it is no record.
bool take(const Definition& d, const Answer& answer, std::string_view record, std::string_view user,
          std::vector<Listed>& all) {
  const Answer::Fields& f = answer.fields;
  Listed one;
  one.id = group(f.id, record);
  one.name = group(f.name, record);
  if (!slurm::is_plain(one.id)) return false;
  // A record that does not say whose it is may be the user's own.
  const std::string owner = group(f.user, record);
  if (f.user && owner.empty()) return false;
  if (f.user && owner != user) return true;
  if (f.intent) {
    one.intent = group(f.intent, record);
  } else if (one.name.starts_with(d.prefix)) {
    one.intent = one.name.substr(d.prefix.size());
  }
  if (!is_intent(one.intent)) one.intent.clear();
  one.state = group(f.state, record);
  if (f.state && one.state.empty()) return false;
  one.stage = f.state ? stage_in(d, one.state) : slurm::Stage::over;
  one.reason = one.stage == slurm::Stage::waits ? group(f.reason, record) : std::string();
  one.submitted = time_in(answer, f.submitted, record);
  one.start = time_in(answer, f.start, record);
  one.end = time_in(answer, f.end, record);
  one.nodes = whole_number<std::uint32_t>(group(f.nodes, record)).value_or(0);
  all.push_back(std::move(one));
  return true;
}

}  // namespace

std::string job_name(const Definition& definition, std::string_view intent) {
  return definition.prefix + std::string(intent);
}

SubmitAnswer read_submission(const Definition& d, const slurm::SbatchOutput& output) {
  SubmitAnswer answer;
  const auto of_out = lines_in(output.out);
  auto lines = of_out;
  const auto of_err = lines_in(output.err);
  lines.insert(lines.end(), of_err.begin(), of_err.end());
  answer.words = slurm::words_for_people(lines);
  if (output.timed_out || output.truncated || output.exit_code < 0) return answer;
  const auto any = [&](const Patterns& patterns) {
    const auto line =
        std::ranges::find_if(lines, [&](auto one) { return one_matches(patterns, one); });
    if (line == lines.end()) return false;
    const auto words = slurm::words_for_people({*line});
    if (!words.empty()) answer.told_by = words.front();
    return true;
  };
  std::set<std::string> ids;
  for (const auto line : of_out) {
    if (matches(d.accepted, line)) ids.insert(group(d.accepted, line));
  }
  if (output.exit_code == 0) {
    const bool is_one = ids.size() == 1 && slurm::is_plain(*ids.begin());
    if (!is_one || !output.out.ends_with('\n')) return answer;
    answer.what = Submitted::accepted;
    answer.id = *ids.begin();
  } else if (is_missing_program(output)) {
    answer.what = Submitted::refused;
    answer.not_from_here = true;
  } else if (!ids.empty()) {
    return answer;  // it got as far as that
  } else if (any(d.not_from_here)) {
    answer.what = Submitted::refused;
    answer.not_from_here = true;
  } else if (any(d.later)) {
    answer.what = Submitted::later;
  } else if (any(d.refused)) {
    answer.what = Submitted::refused;
  }
  return answer;
}

Told read_answer(const Definition& d, const Answer& answer, const slurm::SbatchOutput& output,
                 std::string_view user) {
  Told told;
  // That there is nothing, and nothing else, such as an error beside it.
  const auto says_none = [&](std::string_view text) {
    bool is_said = false;
    for (const auto line : lines_in(text)) {
      const bool here = matches(answer.none, line);
      if (!here && !one_matches(answer.others, line)) return false;
      is_said = is_said || here;
    }
    return is_said;
  };
  if (output.timed_out || output.truncated || output.exit_code < 0) {
    told.failure = output.truncated ? "it printed more than can be read" : "it took too long";
    return told;
  }
  if (trimmed(output.out).empty() && says_none(output.err)) return {{}, true};
  if (output.exit_code != 0) {
    told.failure = slurm::failure_of({output.exit_code, output.out, output.err});
    return told;
  }
  const std::string text = joined(output.out, answer.continued);
  std::string_view rest = text;
  told.whole = text.ends_with('\n');
  if (!cut_off(answer.begins, nullptr, rest)) {
    return {{}, false, "it printed something else than what it was asked for"};
  }
  told.whole = cut_off(nullptr, answer.ends, rest) && told.whole;
  re2::StringPiece found;
  for (std::size_t at = 0; at <= rest.size();) {
    const bool is_record =
        answer.record->Match(piece(rest), at, rest.size(), RE2::UNANCHORED, &found, 1) &&
        !found.empty();
    const std::size_t next =
        is_record ? static_cast<std::size_t>(found.data() - rest.data()) : rest.size();
    for (const auto line : lines_in(rest.substr(at, next - at))) {
      if (!one_matches(answer.others, line) && !matches(answer.none, line)) told.whole = false;
    }
    if (!is_record) break;
    if (!take(d, answer, {found.data(), found.size()}, user, told.allocations)) told.whole = false;
    at = next + found.size();
  }
  return told;
}

}  // namespace torc::launcher
