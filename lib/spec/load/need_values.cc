#include "lib/spec/load/need_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quantities.h"
#include "lib/base/text/text.h"
#include "lib/spec/script/script_tree.h"
#include "lib/spec/text/form.h"
#include "lib/spec/yaml/yaml_text.h"
#include "lib/spec/yaml/yaml_tree.h"

namespace torc::spec {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

const Node* child(const Node& map, std::string_view key) {
  if (map.kind != NodeKind::map) return nullptr;
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    if (map.items[i]->text == key) return map.items[i + 1];
  }
  return nullptr;
}

std::string name_of(const Node& map) {
  const Node* name = child(map, "name");
  return name == nullptr ? std::string() : name->text;
}

std::optional<std::uint64_t> parsed(Need need, std::string_view text) {
  if (need == Need::cpus) {
    const auto number = parse_integer(text);
    if (!number.ok() || !*number || **number < 1) return std::nullopt;
    return static_cast<std::uint64_t>(**number);
  }
  if (need == Need::memory) {
    const auto bytes = parse_memory(text);
    return bytes.ok() ? std::optional(bytes->value) : std::nullopt;
  }
  const auto time = parse_spec_duration(text);
  return time.ok() ? std::optional(static_cast<std::uint64_t>(time->count())) : std::nullopt;
}

NeedValue value_at(const Source& source, Need need, const Node& node, std::string where) {
  NeedValue value;
  value.where = std::move(where);
  value.line = place_of(source, node).line;
  value.begin = node.offset;
  value.text = node.text;
  const std::string_view text = source.text();
  const std::size_t at = node.alias ? node.offset : skip_properties(text, node.offset);
  if (node.kind != NodeKind::scalar || at >= text.size()) {
    value.fixed = "it is not a plain value";
    return value;
  }
  if (node.alias) {
    value.length = std::min(text.find_first_of(" \t\r\n,]}", at), text.size()) - at;
  } else if (at != node.offset) {
    value.fixed = "it has an anchor (&) or a tag (!): others may repeat it";
  } else if (text[at] == '"' || text[at] == '\'') {
    value.length = quoted_length(text, at).value_or(0);
  } else if (text.substr(at).starts_with(node.text)) {
    value.length = node.text.size();
  }
  if (const auto amount = parsed(need, node.text)) {
    value.amount = *amount;
  } else if (value.fixed.empty()) {
    value.fixed = "it is made of a variable or a parameter";
  }
  if (value.length == 0 && value.fixed.empty()) value.fixed = "it is written over several lines";
  return value;
}

// "4g", "90m": of a number and the units that it may be a multiple of, the largest first.
struct Unit {
  std::uint64_t size;
  std::string_view word;
};

std::string show_seconds(std::uint64_t seconds, bool iso) {
  constexpr Unit kUnits[] = {{3600, "h"}, {60, "m"}, {1, "s"}};
  std::string text = iso ? "PT" : "";
  for (const Unit& unit : kUnits) {
    const std::uint64_t n = seconds / unit.size;
    seconds %= unit.size;
    if (n == 0) continue;
    text += fmt::format("{}{}", n, iso ? upper(unit.word[0]) : unit.word[0]);
  }
  return text;
}

std::string show_memory(std::uint64_t bytes) {
  constexpr Unit kUnits[] = {{1U << 30U, "g"}, {1U << 20U, "m"}, {1U << 10U, "k"}};
  for (const Unit& unit : kUnits) {
    if (bytes % unit.size == 0) return fmt::format("{}{}", bytes / unit.size, unit.word);
  }
  return std::to_string(bytes);
}

}  // namespace

std::string_view word(Need need) {
  constexpr std::string_view kWords[] = {"cpus", "memory", "runtime", "time_limit"};
  return word_of(need, kWords);
}

std::uint64_t amount_of(const Resources& r, Need need) {
  switch (need) {
    case Need::cpus:
      return r.cpus;
    case Need::memory:
      return r.memory > Resources{}.memory ? r.memory.value : 0;
    case Need::runtime:
      return static_cast<std::uint64_t>(r.runtime.count());
    case Need::time_limit:
      return static_cast<std::uint64_t>(r.time_limit.count());
  }
  return 0;
}

std::string show_need(Need need, std::uint64_t amount, std::string_view like) {
  if (need == Need::cpus) return std::to_string(amount);
  if (need == Need::memory) {
    const bool bytes = !like.empty() && std::all_of(like.begin(), like.end(), is_digit);
    return bytes ? std::to_string(amount) : show_memory(amount);
  }
  return show_seconds(amount, like.starts_with('P'));
}

Result<NeedValues> NeedValues::read(std::string text, const std::string& file) {
  if (form_of(file) != Form::yaml)
    return Error{ErrorKind::invalid, fmt::format("{} is not YAML", file),
                 "only workflow files in YAML, or JSON, can be written into"};
  NeedValues values;
  values.text_ = std::move(text);
  std::string_view body = values.text_;
  const std::size_t skipped = body.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  body.remove_prefix(skipped);
  const Source source(body, file);
  if (is_script(source))
    return Error{ErrorKind::invalid, fmt::format("{} is a script", file),
                 "write the values into its lines: #TORC --cpus 4 --memory 8g --runtime 30m"};
  Report report(source);
  const Tree tree = read_yaml(source, report);
  if (tree.root == nullptr || report.has_error())
    return Error{ErrorKind::invalid, fmt::format("{} cannot be read", file),
                 "`torc check` tells why"};
  const auto said_in = [&](const Node& map) {
    Said said;
    for (const Need need : kNeeds) {
      const Node* node = child(map, word(need));
      if (node == nullptr && need == Need::cpus) node = child(map, "num_cpus");
      if (node == nullptr || node->kind == NodeKind::null) continue;
      NeedValue value = value_at(source, need, *node, name_of(map));
      value.begin += skipped;
      said[static_cast<std::size_t>(need)] = std::move(value);
    }
    return said;
  };
  if (const Node* jobs = child(*tree.root, "jobs")) {
    for (const Node* job : jobs->items) values.jobs_.push_back(said_in(*job));
  }
  if (const Node* sets = child(*tree.root, "resource_requirements")) {
    for (const Node* set : sets->items) values.sets_.emplace(name_of(*set), said_in(*set));
  }
  return values;
}

const NeedValue* NeedValues::find(std::size_t position, const std::string& set, Need need) const {
  const auto n = static_cast<std::size_t>(need);
  if (position < jobs_.size() && jobs_[position][n]) return &*jobs_[position][n];
  const auto found = sets_.find(set);
  return found != sets_.end() && found->second[n] ? &*found->second[n] : nullptr;
}

std::string NeedValues::with(const std::map<std::size_t, std::uint64_t>& amounts) const {
  struct Edit {
    std::size_t length;
    std::string text;
  };
  std::map<std::size_t, Edit> edits;
  const auto look_at = [&](const Said& said) {
    for (const Need need : kNeeds) {
      const auto& value = said[static_cast<std::size_t>(need)];
      const auto wanted = value ? amounts.find(value->begin) : amounts.end();
      if (wanted == amounts.end()) continue;
      std::string text = show_need(need, wanted->second, value->text);
      const char first = text_[value->begin];
      if (first == '"' || first == '\'') text.insert(0, 1, first).push_back(first);
      edits.insert_or_assign(value->begin, Edit{value->length, std::move(text)});
    }
  };
  for (const Said& said : jobs_) look_at(said);
  for (const auto& [name, said] : sets_) look_at(said);
  std::string out;
  std::size_t at = 0;
  for (const auto& [begin, edit] : edits) {
    out.append(text_, at, begin - at).append(edit.text);
    at = begin + edit.length;
  }
  return out.append(text_, at);
}

}  // namespace torc::spec
