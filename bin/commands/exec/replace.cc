#include "bin/commands/exec/replace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "lib/base/text/quote.h"

namespace torc::cli {
namespace {

std::string last_part(std::string_view value) {
  const std::size_t slash = value.rfind('/');
  return std::string(slash == std::string_view::npos ? value : value.substr(slash + 1));
}

std::string without_extension(std::string_view value) {
  const std::size_t dot = value.rfind('.');
  const std::size_t name = value.size() - last_part(value).size();
  return std::string(dot == std::string_view::npos || dot <= name ? value : value.substr(0, dot));
}

std::string directory_part(std::string_view value) {
  const std::size_t slash = value.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : value.substr(0, slash));
}

// {.}, {/}, …: what stands behind the position, and what it is called as a parameter.
struct ExecForm {
  std::string_view written;
  std::string_view parameter;
  std::string (*of)(std::string_view value);
};
constexpr ExecForm kForms[] = {
    {"", "torc_line", [](std::string_view v) { return std::string(v); }},
    {".", "torc_stem", without_extension},
    {"/", "torc_name", last_part},
    {"//", "torc_directory", directory_part},
    {"/.", "torc_name_stem", [](std::string_view v) { return without_extension(last_part(v)); }},
};

constexpr int kMostPositions = 1000;

// One of them in a command.
struct ExecPlace {
  enum class Kind : unsigned char { value, number, slot, foreign };
  Kind kind = Kind::value;
  std::size_t size = 0;  // as written
  int position = 0;
  const ExecForm* form = nullptr;
};

// {2/.}, between its braces.
std::optional<ExecPlace> value_named(std::string_view inner) {
  ExecPlace place;
  std::size_t digits = inner.starts_with('-') ? 1 : 0;
  const std::size_t first = digits;
  while (digits < inner.size() && std::isdigit(static_cast<unsigned char>(inner[digits])) != 0) {
    place.position = place.position * 10 + (inner[digits++] - '0');
    if (place.position > kMostPositions) return std::nullopt;
  }
  if ((digits > first) != (place.position > 0) || (first == 1 && digits == 1)) return std::nullopt;
  if (first == 1) place.position = -place.position;
  for (const ExecForm& form : kForms) {
    if (inner.substr(digits) == form.written) place.form = &form;
  }
  return place.form == nullptr ? std::nullopt : std::optional(place);
}

// At the beginning of `rest`, if it is one. ${} and {{}} are not for us.
std::optional<ExecPlace> place_at(std::string_view command, std::size_t at, std::string_view all) {
  const std::string_view rest = command.substr(at);
  if (rest.starts_with(all) && all != "{}")
    return ExecPlace{ExecPlace::Kind::value, all.size(), 0, &kForms[0]};
  const bool free = at == 0 || (command[at - 1] != '$' && command[at - 1] != '{');
  const std::size_t end = rest.find('}');
  if (!rest.starts_with('{') || !free || end == std::string_view::npos) return std::nullopt;
  if (rest.substr(end + 1).starts_with('}')) return std::nullopt;
  const std::string_view inner = rest.substr(1, end - 1);
  if (inner.empty() && all != "{}") return std::nullopt;
  std::optional<ExecPlace> place;
  if (inner == "#") place = ExecPlace{ExecPlace::Kind::number, 0, 0, nullptr};
  if (inner == "%") place = ExecPlace{ExecPlace::Kind::slot, 0, 0, nullptr};
  if (inner == "##" || (inner.size() > 1 && inner.starts_with('=') && inner.ends_with('=')))
    place = ExecPlace{ExecPlace::Kind::foreign, 0, 0, nullptr};
  if (!place) place = value_named(inner);
  if (place) place->size = end + 1;
  return place;
}

// Within which quotes of the shell the text so far ends.
class Quotes {
 public:
  void pass(char c) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\' && open_ != '\'') {
      escaped_ = true;
    } else if (open_ == 0 && (c == '\'' || c == '"')) {
      open_ = c;
    } else if (c == open_) {
      open_ = 0;
    }
  }
  [[nodiscard]] bool is_single() const { return open_ == '\''; }

 private:
  char open_ = 0;
  bool escaped_ = false;
};

std::string parameter_name(const ExecForm& form, int position) {
  if (position == 0) return std::string(form.parameter);
  return position > 0 ? fmt::format("{}_{}", form.parameter, position)
                      : fmt::format("{}_last_{}", form.parameter, -position);
}

Error no_such_place(std::string_view written) {
  if (written == "{##}")
    return {ErrorKind::invalid,
            "torc exec has no {##}: it does not know yet how many jobs there will be",
            "{#} is the number of the job; `wc -l` counts lines before"};
  return {ErrorKind::invalid, fmt::format("torc exec runs no Perl, as in {}", printable(written)),
          "let the shell do it: x={}; echo \"${x%.*}\""};
}

}  // namespace

std::string exec_word(std::string_view value) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-+./:@%,").find(c) != std::string_view::npos ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  if (!value.empty() && std::all_of(value.begin(), value.end(), plain)) return std::string(value);
  return shell_quote(value);
}

std::string ExecColumn::text_of(const ExecValues& values) const {
  if (position != 0) {
    const auto size = static_cast<int>(values.size());
    const int at = position > 0 ? position - 1 : size + position;
    if (at < 0 || at >= size) return {};
    return exec_word(part(values[static_cast<std::size_t>(at)]));
  }
  std::string all;
  for (const std::string& value : values) {
    if (&value != values.data()) all += ' ';
    all += exec_word(part(value));
  }
  return all;
}

Result<ExecPattern> pattern_of(std::string_view command, const ReplaceStyle& style) {
  ExecPattern pattern;
  Quotes quotes;
  bool any = false;
  const auto add = [&](const ExecForm& form, int position) {
    const std::string name = parameter_name(form, position);
    pattern.text += fmt::format("{{{}}}", name);
    if (std::none_of(pattern.columns.begin(), pattern.columns.end(),
                     [&](const ExecColumn& c) { return c.parameter == name; }))
      pattern.columns.push_back({name, position, form.of});
  };
  for (std::size_t at = 0; at < command.size();) {
    const auto place = place_at(command, at, style.all);
    if (!place) {
      quotes.pass(command[at]);
      pattern.text.push_back(command[at++]);
      continue;
    }
    const std::string_view written = command.substr(at, place->size);
    const auto position = static_cast<std::size_t>(std::abs(place->position));
    if (place->kind == ExecPlace::Kind::foreign) return no_such_place(written);
    if (style.width != 0 && position > style.width) {
      return Error{ErrorKind::invalid,
                   fmt::format("{} in the command is value {} of a job, and each job has {}",
                               written, position, style.width),
                   "a further ::: or ::::, --colsep or -N N give jobs further values"};
    }
    at += place->size;
    any = true;
    if (place->kind == ExecPlace::Kind::number) {
      pattern.text += fmt::format("{{{}}}", kNumberParameter);
    } else if (place->kind == ExecPlace::Kind::slot) {
      pattern.has_slot = true;
      pattern.text += quotes.is_single() ? "'\"${TORC_JOB_SLOT}\"'" : "${TORC_JOB_SLOT}";
    } else {
      add(*place->form, style.width == 1 ? 0 : place->position);
    }
  }
  if (!any) {
    pattern.text += ' ';
    add(kForms[0], 0);
  }
  return pattern;
}

std::string quoted_but_places(std::string_view word, const ReplaceStyle& style) {
  std::string all;
  std::size_t from = 0;
  for (std::size_t at = 0; at < word.size();) {
    const auto place = place_at(word, at, style.all);
    if (!place) {
      ++at;
      continue;
    }
    if (at > from) all += exec_word(word.substr(from, at - from));
    all += word.substr(at, place->size);
    from = at += place->size;
  }
  if (from < word.size() || word.empty()) all += exec_word(word.substr(from));
  return all;
}

bool has_place(std::string_view command, const ReplaceStyle& style) {
  for (std::size_t at = 0; at < command.size(); ++at) {
    if (place_at(command, at, style.all)) return true;
  }
  return false;
}

}  // namespace torc::cli
