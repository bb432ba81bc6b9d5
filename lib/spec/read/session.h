// What the reading of one spec knows: its text, its variables and parameters, and where to say what
// is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/spec/language/workflow.h"
#include "lib/spec/read/parse.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/spec/text/form.h"
#include "lib/spec/text/source.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// Few lines can ask for much: ten times a variable that has ten times the one before it.
constexpr std::uint64_t kMaxPutIn = 256U << 20U;  // bytes of variables in all texts of a file

// What one parse() knows while it reads.
struct Session {
  const Source& source;
  Report& report;
  const ReadFile& read;
  std::map<std::string, std::string, std::less<>> variables;
  std::vector<Parameter> parameters;  // the workflow's
  bool has_table = false;             // it names a table, which may have been unreadable

  [[nodiscard]] Place place(const Node& node) const {
    // Much is found in one text at times, and looking for its end costs as much as it is long.
    if (&node != placed) place_of_placed = place_of(source, node);
    placed = &node;
    return place_of_placed;
  }
  [[nodiscard]] Form form() const { return form_of(source.file()); }
  void error(const Node& node, std::string message, std::string remedy) const {
    report.error(place(node), std::move(message), std::move(remedy));
  }
  void warn(const Node& node, std::string message, std::string remedy) const {
    report.add(Severity::warning, place(node), std::move(message), std::move(remedy));
  }

  // A number of JSON5 or KDL that is not finite. In YAML such words are texts.
  [[nodiscard]] bool is_not_finite(const Node& node) const {
    return form() != Form::yaml && node.plain &&
           (node.text == "Infinity" || node.text == "-Infinity" || node.text == "NaN");
  }

  // Sound, but more than this version runs: `what` names it, `instead` says what to do meanwhile.
  void planned(const Node& node, std::string_view what, std::string_view instead) const;

  // The text of a scalar (of a null: as it was written) with the variables put in. Beyond
  // kMaxTextBytes, or kMaxPutIn in all texts of the file, that is reported and they are left out.
  [[nodiscard]] std::string text(const Node& node) const;

  // Counts values that are kept. False: these are too many, which is reported once.
  [[nodiscard]] bool keeps(const Node& at, const ParameterValues& values) const;

  mutable std::uint64_t put_in = 0;  // bytes
  mutable std::uint64_t kept_values = 0;
  mutable std::uint64_t read_bytes = 0;
  mutable const Node* placed = nullptr;
  mutable Place place_of_placed = {};
};

}  // namespace torc::spec
