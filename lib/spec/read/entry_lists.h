// Lists of entries, as a workflow and an addition have them.
#pragma once

#include <string_view>
#include <vector>

#include "lib/spec/language/language.h"
#include "lib/spec/read/reader.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

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
