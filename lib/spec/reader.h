// Reads maps of a spec by the table of the language: what is unknown, misplaced, missing, doubled
// or of the wrong type has been reported when a MapReader exists, and its getters give what is
// left, or defaults.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/language.h"
#include "lib/spec/parse.h"
#include "lib/spec/source.h"
#include "lib/spec/yaml_node.h"

namespace torc::spec {

// What one parse() knows while it reads.
// Few lines can ask for much: ten times a variable that has ten times the one before it.
constexpr std::uint64_t kMaxPutIn = 256U << 20U;  // bytes of variables in all texts of a file

struct Session {
  const Source& source;
  Report& report;
  const ReadFile& read;
  std::map<std::string, std::string, std::less<>> variables;
  std::vector<Parameter> parameters;  // the workflow's

  [[nodiscard]] Place place(const Node& node) const {
    // Much is found in one text at times, and looking for its end costs as much as it is long.
    if (&node != placed) place_of_placed = place_of(source, node);
    placed = &node;
    return place_of_placed;
  }
  void error(const Node& node, std::string message, std::string remedy) const {
    report.error(place(node), std::move(message), std::move(remedy));
  }
  void warn(const Node& node, std::string message, std::string remedy) const {
    report.add(Severity::warning, place(node), std::move(message), std::move(remedy));
  }

  // Sound, but more than this version runs: `what` names it, `instead` says what to do meanwhile.
  void planned(const Node& node, std::string_view what, std::string_view instead) const;

  // The text of a scalar (of a null: as it was written) with the variables put in. Beyond
  // kMaxTextBytes, or kMaxPutIn in all texts of the file, that is reported and they are left out.
  [[nodiscard]] std::string text(const Node& node) const;

  mutable std::uint64_t put_in = 0;  // bytes
  mutable const Node* placed = nullptr;
  mutable Place place_of_placed = {};
};

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
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  [[nodiscard]] double decimal(std::string_view key, double fallback) const;
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

// The scalar as its type has it; reports when it is none. For maps whose keys are the user's.
[[nodiscard]] bool check_line(const Session& session, const Node& node, std::string_view what);

// The elements of a list of maps, each a map; others are reported and left out.
[[nodiscard]] std::vector<const Node*> maps_in(const Session& session, const Node& list,
                                               Where child);

}  // namespace torc::spec
