#include "lib/spec/read/value_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "lib/base/amounts.h"
#include "lib/base/number.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"

namespace torc::spec {
namespace {

// Longer than a path may be; names, labels and the like are one line for people.
constexpr std::size_t kMaxLine = 4'096;

// In the order of NodeKind.
constexpr std::string_view kKinds[] = {"empty", "a text", "a list", "a map"};

// One value of a type at a place: what every check below needs.
struct Check {
  const Session& session;
  const Key& key;
  std::string_view name;
  const Node& value;

  bool wrong(std::string message, std::string remedy) const {
    session.error(value, std::move(message), std::move(remedy));
    return false;
  }
  bool wrong_type() const {
    return wrong(fmt::format("{} must be {}, not {}", torc::quoted(name), with_article(key.type),
                             word_of(value.kind, kKinds)),
                 remedy());
  }
  // {i} without quotes is a map in YAML, [a] a list: the slip that everybody makes once.
  std::string remedy() const {
    if (session.form() == Form::kdl) return remedy_in_kdl();
    if (session.form() == Form::json5) return remedy_in_json5();
    const bool map = with_article(key.type) == "a map";
    if (value.kind == NodeKind::scalar) {
      if (key.type == Type::integers) return fmt::format("write {}: [{}]", name, value.text);
      if (key.type == Type::maps) return "start each of them on a line of its own with '- '";
      return "write 'key: value' lines below it";
    }
    if (map) return "write 'key: value' lines below it, without '- '";
    if (key.type == Type::maps || key.type == Type::names || key.type == Type::integers)
      return "start each of them on a line of its own with '- '";
    if (key.name == "resource_requirements" && value.kind == NodeKind::map)
      return "write its keys in the job itself, or give the set a name under the top-level "
             "'resource_requirements', and write that name here";
    return "put quotes around a text that starts with '{' or '['";
  }

  std::string remedy_in_kdl() const {
    const std::string_view wanted = with_article(key.type);
    if (wanted == "a map" || wanted == "a list of maps")
      return fmt::format("write {} {{ key value }}", name);
    return fmt::format("write {} and one value", name);
  }
  std::string remedy_in_json5() const {
    const std::string_view wanted = with_article(key.type);
    if (wanted == "a map") return fmt::format("write {}: {{ key: value }}", name);
    if (wanted == "a list of maps") return fmt::format("write {}: [{{ key: value }}]", name);
    if (key.type == Type::integers) return fmt::format("write {}: [1]", name);
    return fmt::format("write {}: 'a text'", name);
  }

  bool scalar() const { return value.kind == NodeKind::scalar || wrong_type(); }
  bool text(bool empty_allowed, bool lines_allowed) const;
  bool integer() const;
  bool boolean() const;
  bool names() const;
  bool integers() const;
  bool decimal() const;
  bool fraction() const;
  bool selection() const;
  bool counts() const;
  bool gpus() const;
  bool amounts() const;
  bool shares() const;
  bool choice_of(const Node& node) const;
  bool element(const Node& item) const {
    return check_line(session, item, fmt::format("an element of {}", torc::quoted(name)));
  }
  // All of a list, also behind one that is wrong.
  template <class CheckOne>
  bool each(const CheckOne& check_one) const {
    if (value.kind != NodeKind::sequence) return wrong_type();
    bool fine = true;
    for (const Node* item : value.items) fine = check_one(*item) && fine;
    return fine;
  }
  bool signal_ahead() const;
  template <class T>
  bool parses(const Result<T>& result) const {
    return result.ok() || wrong(result.error().what, result.error().remedy);
  }
};

bool Check::text(bool empty_allowed, bool lines_allowed) const {
  if (!scalar()) return false;
  const std::string text = session.text(value);
  if (!empty_allowed && text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return wrong(fmt::format("{} is empty", torc::quoted(name)), "write a text");
  }
  if (!lines_allowed && text.find_first_of("\r\n") != std::string::npos) {
    return wrong(fmt::format("{} must be on one line", torc::quoted(name)),
                 "write it without '|' and line ends");
  }
  if (!empty_allowed && !lines_allowed && text.find('\t') != std::string::npos) {
    return wrong(fmt::format("{} has a tab", torc::quoted(name)), "write a blank instead");
  }
  if (!lines_allowed) {
    if (const std::string sign = invisible_in(text); !sign.empty())
      return wrong(fmt::format("{} has the {}", torc::quoted(name), sign), "remove it");
    if (text.size() > kMaxLine) {
      return wrong(fmt::format("{} has {} bytes; the limit is {}", torc::quoted(name), text.size(),
                               kMaxLine),
                   "shorten it");
    }
  }
  return true;
}

bool Check::integer() const {
  if (!scalar()) return false;
  const std::string text = session.text(value);
  const Result<std::optional<std::int64_t>> number = parse_integer(text);
  if (!number.ok()) return parses(number);
  const auto range = [&] {
    if (key.max == std::numeric_limits<std::int64_t>::max())
      return fmt::format("from {} on", key.min);
    return fmt::format("from {} to {}", key.min, key.max);
  };
  if (!number->has_value()) {
    return wrong(
        fmt::format("{} must be a whole number, not {}", torc::quoted(name), torc::quoted(text)),
        fmt::format("write a whole number {}", range()));
  }
  if (!value.plain) {
    return wrong(fmt::format("{} must be a number, not a text in quotes", torc::quoted(name)),
                 "remove the quotes");
  }
  if (**number < key.min || **number > key.max) {
    return wrong(fmt::format("{} is out of range for {}", **number, torc::quoted(name)),
                 fmt::format("write a whole number {}", range()));
  }
  return true;
}

bool Check::boolean() const {
  if (!scalar()) return false;
  return as_boolean(value).has_value() ||
         wrong(fmt::format("{} must be true or false, not {}", torc::quoted(name),
                           torc::quoted(value.text)),
               value.plain ? "write true or false" : "write true or false, without quotes");
}

bool Check::choice_of(const Node& node) const {
  const std::string text = session.text(node);
  const std::vector<std::string> choices = words_of(key.choices);
  const auto in = [&](const std::vector<std::string>& list) {
    return std::ranges::find(list, text) != list.end();
  };
  if (in(words_of(key.planned))) {
    session.planned(node, fmt::format("{} {}", name, torc::quoted(text)),
                    key.instead.empty() ? "choose another one" : key.instead);
  }
  if (in(choices)) return true;
  const std::string guess = nearest(text, choices);
  session.error(node, fmt::format("{} cannot be {}", torc::quoted(name), torc::quoted(text)),
                guess.empty() ? fmt::format("one of {}", fmt::join(choices, ", "))
                              : fmt::format("did you mean {}?", torc::quoted(guess)));
  return false;
}

bool Check::names() const {
  if (value.kind == NodeKind::scalar)
    return check_line(session, value, fmt::format("the value of {}", torc::quoted(name)));
  return each([&](const Node& item) { return element(item); });
}

bool Check::integers() const {
  return each([&](const Node& item) { return Check{session, key, name, item}.integer(); });
}

bool Check::decimal() const {
  if (!scalar()) return false;
  const std::string text = session.text(value);
  const std::optional<double> number = value.plain ? parse_decimal(text) : std::nullopt;
  if (number && *number > 0 && *number <= static_cast<double>(key.max)) return true;
  return wrong(fmt::format("{} cannot be {}", torc::quoted(name), torc::quoted(text)),
               fmt::format("write a number above 0, at most {}, without quotes", key.max));
}

bool Check::fraction() const {
  if (!scalar()) return false;
  const std::string text = session.text(value);
  return parse_thousandths(text).has_value() ||
         wrong(fmt::format("{} cannot be {}", torc::quoted(name), torc::quoted(text)),
               "write a number from 0 to 1 with at most three decimals, or a percentage: 0.5, 50%");
}

bool Check::selection() const {
  if (value.kind == NodeKind::scalar) return choice_of(value);
  return each([&](const Node& item) { return element(item) && choice_of(item); });
}

bool Check::shares() const {
  return value.kind == NodeKind::map ? counts() : names();
}

// A wrong number leaves the names to be checked.
bool Check::counts() const {
  if (value.kind != NodeKind::map) return wrong_type();
  for (std::size_t i = 0; i + 1 < value.items.size(); i += 2)
    (void)Check{session, key, value.items[i]->text, *value.items[i + 1]}.integer();
  return true;
}

bool Check::gpus() const {
  if (!scalar()) return false;
  const std::string text = session.text(value);
  const auto amount = parse_amount(text);
  if (amount && (*amount < kWhole || (*amount == kAllThereIs))) return true;
  if (amount && text.find('.') != std::string::npos && *amount % kWhole != 0)
    return wrong(fmt::format("{} cannot be {}", torc::quoted(name), torc::quoted(text)),
                 "whole GPUs, or a part of one below 1, such as 0.25");
  if (!whole_number<std::uint64_t>(text)) {
    return wrong(fmt::format("{} cannot be {}", torc::quoted(name), torc::quoted(text)),
                 fmt::format("a whole number from {} to {}, a part of one GPU such as 0.25, or all",
                             key.min, key.max));
  }
  return integer();
}

// A wrong amount leaves the names to be checked.
bool Check::amounts() const {
  if (value.kind != NodeKind::map) return wrong_type();
  for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
    const Node& of = *value.items[i];
    const auto resource = resource_name(session.text(of));
    if (!resource) {
      session.error(of, fmt::format("no resource can be named {}", torc::quoted(of.text)),
                    std::string(kNameRule));
      continue;
    }
    if (is_reserved_resource(*resource)) {
      session.error(of, fmt::format("{} has a key of its own", torc::quoted(of.text)),
                    resource->starts_with("gpu/")
                        ? fmt::format("did you mean 'gpus{}'?", resource->substr(3))
                        : "write num_cpus, memory, num_gpus, … beside 'resources'");
      continue;
    }
    const Check one{session, key, of.text, *value.items[i + 1]};
    if (!one.scalar()) continue;
    const std::string text = session.text(one.value);
    const auto amount = parse_amount(text);
    if (!amount) {
      (void)one.wrong(fmt::format("{} cannot be {}", torc::quoted(of.text), torc::quoted(text)),
                      "a number above 0 with at most three decimals, or all");
    } else if (is_gpu(*resource) && !is_by_piece(*amount)) {
      (void)one.wrong(fmt::format("{} cannot be {}", torc::quoted(of.text), torc::quoted(text)),
                      "whole GPUs, or a part of one below 1, such as 0.25");
    }
  }
  return true;
}

// SIGNAL@SECONDS, the seconds at most 65,535: what srun takes.
bool Check::signal_ahead() const {
  if (!scalar()) return false;
  const std::string text = session.text(value);
  const std::size_t at = text.find('@');
  const auto seconds = at == std::string::npos ? Result<std::optional<std::int64_t>>(60)
                                               : parse_integer(text.substr(at + 1));
  const bool sound = as_signal(text.substr(0, at)) && seconds.ok() && seconds->has_value() &&
                     **seconds >= 0 && **seconds <= 65'535;
  return sound || wrong(fmt::format("{} is not a signal with its time", torc::quoted(text)),
                        "write a signal, '@' and seconds, as TERM@120");
}

}  // namespace

bool check_value(const Session& session, const Key& key, std::string_view name, const Node& value) {
  const Check check{session, key, name, value};
  switch (key.type) {
    case Type::word:
      return check.text(false, false);
    case Type::line:
      return check.text(true, false);
    case Type::text:
      return check.text(false, true);
    case Type::prose:
      return check.text(true, true);
    case Type::integer:
      return check.integer();
    case Type::boolean:
      return check.boolean();
    case Type::choice:
      return check.scalar() && check.choice_of(value);
    case Type::memory:
      return check.scalar() && check.parses(parse_memory(session.text(value)));
    case Type::duration:
      return check.scalar() && check.parses(parse_spec_duration(session.text(value)));
    case Type::walltime:
      return check.scalar() && check.parses(parse_walltime(session.text(value)));
    case Type::signal:
      return check.scalar() && (as_signal(session.text(value)).has_value() ||
                                check.wrong(fmt::format("{} is not a signal that ends a process",
                                                        torc::quoted(session.text(value))),
                                            "write a name or a number, as SIGTERM, INT or 10"));
    case Type::names:
      return check.names();
    case Type::integers:
      return check.integers();
    case Type::decimal:
      return check.decimal();
    case Type::fraction:
      return check.fraction();
    case Type::selection:
      return check.selection();
    case Type::gpus:
      return check.gpus();
    case Type::amounts:
      return check.amounts();
    case Type::counts:
      return check.counts();
    case Type::shares:
      return check.shares();
    case Type::signal_ahead:
      return check.signal_ahead();
    case Type::maps:
      return value.kind == NodeKind::sequence || check.wrong_type();
    case Type::map:
    case Type::named_maps:
    case Type::environment:
    case Type::constants:
    case Type::options:
      return value.kind == NodeKind::map || check.wrong_type();
    case Type::parameters:
    case Type::json:
    case Type::value:
    case Type::any:
      break;
  }
  return true;
}

bool check_line(const Session& session, const Node& node, std::string_view what) {
  if (node.kind == NodeKind::sequence || node.kind == NodeKind::map) {
    session.error(node,
                  fmt::format("{} must be a text, not a {}", what,
                              node.kind == NodeKind::map ? "map" : "list"),
                  "put quotes around a text that starts with '{' or '['");
    return false;
  }
  const std::string text = session.text(node);
  if (text.empty()) {
    session.error(node, fmt::format("{} is empty", what), "write a text, or remove it");
    return false;
  }
  if (text.find_first_of("\r\n") != std::string::npos) {
    session.error(node, fmt::format("{} must be on one line", what),
                  "write it without '|' and line ends");
    return false;
  }
  if (const std::string sign = invisible_in(text); !sign.empty()) {
    session.error(node, fmt::format("{} has a {}", what, sign), "remove it");
    return false;
  }
  return true;
}

std::string invisible_in(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    const char32_t v = c.value;
    const bool control = (v < 0x20 && v != '\t' && v != '\n' && v != '\r') ||
                         (v >= 0x7F && v < 0xA0) || v == 0x2028 || v == 0x2029;
    const bool turns = (v >= 0x202A && v <= 0x202E) || (v >= 0x2066 && v <= 0x2069);
    if (c.bytes > 0 && (control || turns)) {
      return fmt::format("{} character U+{:04X}", control ? "control" : "direction",
                         static_cast<unsigned>(v));
    }
    i += std::max<std::size_t>(c.bytes, 1);
  }
  return {};
}

std::optional<bool> as_boolean(const Node& node) {
  if (node.kind != NodeKind::scalar || !node.plain) return {};
  if (node.text == "true" || node.text == "True" || node.text == "TRUE") return true;
  if (node.text == "false" || node.text == "False" || node.text == "FALSE") return false;
  return {};
}

std::optional<int> as_signal(std::string_view text) {
  constexpr std::pair<std::string_view, int> kSignals[] = {
      {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ABRT", SIGABRT},
      {"KILL", SIGKILL}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"ALRM", SIGALRM},
      {"TERM", SIGTERM}, {"XCPU", SIGXCPU}};
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), upper);
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (const auto& [known, number] : kSignals) {
    if (name == known || name == std::to_string(number)) return number;
  }
  return {};
}

}  // namespace torc::spec
