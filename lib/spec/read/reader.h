// Reads maps of a spec by the table of the language: what is unknown, misplaced, missing, doubled
// or of the wrong type has been reported when a MapReader exists, and its getters give what is
// left, or defaults.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/language/language.h"
#include "lib/spec/read/session.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

class MapReader {
 public:
  // Reports everything that the table says. Precondition: `map` is a map.
  MapReader(const Session& session, const Node& map, Where where);

  // The value of a key, sound as far as its type goes; null when it is absent, null or has been
  // reported.
  [[nodiscard]] const Node* find(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  // The key has a value that was reported, so nobody knows what was meant.
  [[nodiscard]] bool rejected(std::string_view key) const;

  // What was written, or else `fallback`.
  [[nodiscard]] std::string text(std::string_view key, std::string fallback = {}) const;
  template <class Integer>
  [[nodiscard]] Integer integer(std::string_view key, Integer fallback) const {
    return static_cast<Integer>(whole(key).value_or(static_cast<std::int64_t>(fallback)));
  }
  [[nodiscard]] std::chrono::seconds seconds(std::string_view key,
                                             std::chrono::seconds fallback) const {
    return std::chrono::seconds(integer(key, fallback.count()));
  }
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  [[nodiscard]] double decimal(std::string_view key, double fallback) const;
  // Of an enumeration that follows the choices of the table; the first when nothing was chosen.
  template <class Enum>
  [[nodiscard]] Enum choice(std::string_view key) const {
    return static_cast<Enum>(position_of(key, text(key)));
  }
  [[nodiscard]] std::size_t position_of(std::string_view key, std::string_view choice) const;
  [[nodiscard]] std::optional<std::uint32_t> positive(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> words(std::string_view key) const;  // also of one text

  // What was written as the name, or seems to have been meant: the value of a key like 'nmae', or
  // one that was reported. Empty: nothing.
  [[nodiscard]] std::string name() const;

  // Of each key's value, and of each element as "depends_on[2]".
  [[nodiscard]] std::map<std::string, Place> places() const;
  // Of the name's value; of the map where it has none, and of an alias.
  [[nodiscard]] Place name_place() const;
  [[nodiscard]] const Session& session() const { return *session_; }

 private:
  struct Field {
    const Key* key;  // that it stands for: 'scheduler' for slurm_scheduler
    const Node* value;
  };

  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view key) const;
  void add(const Node& key_node, const Node& value);
  void tell_support(const Key& key, const Node& key_node, const Node& value) const;
  void check_missing();
  [[nodiscard]] std::string subject() const;

  const Session* session_;
  const Node* map_;
  Where where_;
  std::vector<Field> fields_;
  std::vector<const Key*> rejected_;
  std::vector<const Key*> named_;  // present in any way, so not missing
  const Node* seems_name_ = nullptr;
};

// The elements of a list of maps, each a map; others are reported and left out.
[[nodiscard]] std::vector<const Node*> maps_in(const Session& session, const Node& list,
                                               Where child);

// A nameless entry stands for what could not be read: whoever looks for a name knows that it may
// have been there.
template <class T>
T unreadable() {
  T entry;
  if constexpr (requires { entry.sound; }) entry.sound = false;
  return entry;
}

// The elements of the list that is the value of `key`, each read by `read_one` from its map.
template <class T, class Read>
std::vector<T> read_all(const MapReader& reader, std::string_view key, Where where, Read read_one) {
  std::vector<T> all;
  const Node* list = reader.find(key);
  if (list == nullptr) {
    if (reader.rejected(key)) all.push_back(unreadable<T>());
    return all;
  }
  const std::vector<const Node*> maps = maps_in(reader.session(), *list, where);
  all.reserve(maps.size());
  for (const Node* map : maps) all.push_back(read_one(reader.session(), *map));
  if (maps.size() < list->items.size()) all.push_back(unreadable<T>());
  return all;
}

}  // namespace torc::spec
