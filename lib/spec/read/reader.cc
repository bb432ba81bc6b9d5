#include "lib/spec/read/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/spec/read/kdl_tree.h"
#include "lib/spec/read/value_check.h"

namespace torc::spec {
namespace {

// A key of another place is named with that place, a slip with what was meant.
std::string remedy_for_unknown(Where where, std::string_view name, Form form) {
  std::vector<std::string_view> homes;
  for (const Key& key : language()) {
    if (key.name == name && key.where != Where::monitor && key.where != Where::monitor_part)
      homes.push_back(with_article(key.where));
  }
  const bool is_key = find_key(Where::workflow, name) != nullptr;
  if (where == Where::addition && is_key)
    return "the workflow keeps what its own file said of that; remove it here";
  if (!homes.empty()) return fmt::format("it belongs to {}", fmt::join(homes, " or "));
  const std::string guess = nearest(name, form == Form::kdl ? kdl_names(where) : key_names(where));
  return guess.empty() ? "remove it" : fmt::format("did you mean {}?", torc::quoted(guess));
}

}  // namespace

MapReader::MapReader(const Session& session, const Node& map, Where where)
    : session_(&session), map_(&map), where_(where) {
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) add(*map.items[i], *map.items[i + 1]);
  check_missing();
}

void MapReader::add(const Node& key_node, const Node& value) {
  if (key_node.kind == NodeKind::sequence || key_node.kind == NodeKind::map) return;  // reported
  const std::string& name = key_node.text;
  const Key* key = find_key(where_, name);
  if (key == nullptr) {
    session_->error(key_node,
                    fmt::format("unknown key {} in {}", torc::quoted(name), with_article(where_)),
                    remedy_for_unknown(where_, name, session_->form()));
    if (value.kind == NodeKind::scalar && !nearest(name, {"name"}).empty()) seems_name_ = &value;
    return;
  }
  const Key* meant = meaning_of(*key);
  // The same word twice has been reported.
  const auto other = std::ranges::find_if(
      named_, [&](const Key* one) { return one != key && meaning_of(*one) == meant; });
  const Key* const said = other == named_.end() ? nullptr : *other;
  named_.push_back(key);
  tell_support(*key, key_node, value);
  if (said != nullptr) {
    session_->error(
        key_node,
        fmt::format("{} and {} are the same key", torc::quoted(name), torc::quoted(said->name)),
        "keep one of the two");
    return;
  }
  if (value.kind == NodeKind::null) {
    if (key->required)
      session_->error(key_node, fmt::format("{} is empty", torc::quoted(name)), "write its value");
    return;
  }
  if (check_value(*session_, *key, name, value)) {
    fields_.push_back({meant, &value});
    return;
  }
  rejected_.push_back(meant);
  if (meant->name == "name" && value.kind == NodeKind::scalar) seems_name_ = &value;
}

void MapReader::tell_support(const Key& key, const Node& key_node, const Node& value) const {
  // What says that nothing is wanted runs as it is.
  if (value.kind == NodeKind::null || as_boolean(value) == false) return;
  if (key.support == Support::ignored) {
    session_->report.add(Severity::note, session_->place(key_node),
                         fmt::format("{} has no effect here", torc::quoted(key.name)),
                         std::string(key.about));
  } else if (key.support == Support::planned) {
    session_->planned(key_node, torc::quoted(key.name), key.instead);
  }
}

void MapReader::check_missing() {
  for (const Key& key : language()) {
    if (key.where != where_ || !key.required) continue;
    const auto is_it = [&](const Key* named) { return meaning_of(*named) == &key; };
    if (std::ranges::any_of(named_, is_it)) continue;
    session_->error(
        *map_, fmt::format("{} has no {}", subject(), torc::quoted(key.name)),
        fmt::format("add '{}{} …'", key.name, session_->form() == Form::kdl ? "" : ":"));
  }
}

std::string MapReader::subject() const {
  const Node* name = find("name");
  if (name == nullptr || where_ == Where::workflow) return std::string(with_article(where_));
  std::string_view kind = with_article(where_);
  if (kind.starts_with("a ")) kind.remove_prefix(2);
  return fmt::format("{} {}", kind, torc::quoted(name->text));
}

const Node* MapReader::find(std::string_view key) const {
  for (const Field& f : fields_) {
    if (f.key->name == key) return f.value;
  }
  return nullptr;
}

std::string MapReader::text(std::string_view key, std::string fallback) const {
  const Node* node = find(key);
  return node == nullptr ? std::move(fallback) : session_->text(*node);
}

std::string MapReader::name() const {
  const Node* node = find("name");
  if (node == nullptr) node = seems_name_;
  return node == nullptr ? std::string() : session_->text(*node);
}

std::optional<std::int64_t> MapReader::whole(std::string_view key) const {
  const Node* node = find(key);
  if (node == nullptr) return {};
  const auto number = parse_integer(session_->text(*node));
  return number.ok() ? *number : std::nullopt;
}

bool MapReader::boolean(std::string_view key, bool fallback) const {
  const Node* node = find(key);
  return node == nullptr ? fallback : as_boolean(*node).value_or(fallback);
}

double MapReader::decimal(std::string_view key, double fallback) const {
  const Node* node = find(key);
  return node == nullptr ? fallback : parse_decimal(session_->text(*node)).value_or(fallback);
}

std::size_t MapReader::position_of(std::string_view key, std::string_view choice) const {
  const std::vector<std::string> choices = words_of(find_key(where_, key)->choices);
  const auto found = std::ranges::find(choices, choice);
  return found == choices.end() ? 0 : static_cast<std::size_t>(found - choices.begin());
}

std::optional<std::uint32_t> MapReader::positive(std::string_view key) const {
  if (!has(key)) return {};
  return integer(key, std::uint32_t{1});
}

bool MapReader::rejected(std::string_view key) const {
  return std::ranges::any_of(rejected_, [&](const Key* k) { return k->name == key; });
}

std::vector<std::string> MapReader::words(std::string_view key) const {
  std::vector<std::string> out;
  const Node* node = find(key);
  if (node == nullptr) return out;
  if (node->kind == NodeKind::scalar) return {session_->text(*node)};
  out.reserve(node->items.size());
  for (const Node* item : node->items) out.push_back(session_->text(*item));
  return out;
}

std::map<std::string, Place> MapReader::places() const {
  std::map<std::string, Place> places;
  for (const Field& f : fields_) {
    places.emplace(f.key->name, session_->place(*f.value));
    if (f.value->kind != NodeKind::sequence) continue;
    for (std::size_t i = 0; i < f.value->items.size(); ++i) {
      places.emplace(fmt::format("{}[{}]", f.key->name, i), session_->place(*f.value->items[i]));
    }
  }
  return places;
}

Place MapReader::name_place() const {
  const Node* name = map_->alias ? nullptr : find("name");
  return session_->place(name == nullptr ? *map_ : *name);
}

std::vector<const Node*> maps_in(const Session& session, const Node& list, Where child) {
  std::vector<const Node*> maps;
  for (const Node* item : list.items) {
    if (item->kind == NodeKind::map) {
      maps.push_back(item);
    } else {
      session.error(*item, fmt::format("{} must be a map", with_article(child)),
                    session.form() == Form::yaml ? "write 'key: value' lines behind the '- '"
                                                 : "write { key: value, … }");
    }
  }
  return maps;
}

}  // namespace torc::spec
