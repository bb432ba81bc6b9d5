#include "lib/spec/read/parameter_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"
#include "lib/spec/language/parameter_values.h"
#include "lib/spec/read/value_check.h"
#include "lib/spec/text/placeholder.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {
namespace {

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  names.reserve(parameters.size());
  for (const Parameter& p : parameters) names.push_back(p.name);
  return names;
}

const Parameter* find(const std::vector<Parameter>& parameters, std::string_view name) {
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

// Those that are not blank.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  for (std::string_view& line : lines) line = line.substr(0, line.find_last_not_of("\r \t") + 1);
  std::erase(lines, "");
  return lines;
}

bool is_text(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const CodePoint c = decode_utf8(bytes, i);
    if (c.bytes == 0 || c.value == 0) return false;
    i += c.bytes;
  }
  return true;
}

// Before it is read into values, which take many times its room; empty: it is not.
std::string beyond_limits(std::string_view bytes, const std::string& path) {
  constexpr std::ptrdiff_t kMostValues = 20'000'000;  // as many as jobs
  if (is_json_table(path)) {
    return bytes.size() <= kMaxSpecBytes
               ? ""
               : fmt::format("has more than {} MiB", kMaxSpecBytes >> 20U);
  }
  const bool table = is_table(path);
  const std::ptrdiff_t values =
      std::ranges::count_if(bytes, [&](char c) { return c == '\n' || (table && c == ','); });
  return values <= kMostValues ? "" : fmt::format("has more than {} values", kMostValues);
}

bool is_elsewhere(std::string_view path) {
  return path.starts_with('/') || path.starts_with("../") ||
         path.find("/../") != std::string_view::npos;
}

// The bytes of a file that the spec names; none: reported.
std::optional<std::string> read_named_file(const Session& session, const Node& node,
                                           const std::string& path) {
  const std::string shown = torc::quoted(path);
  if (!session.read) {
    session.error(node, fmt::format("the file {} cannot be read here", shown),
                  "write the values as a list");
    return {};
  }
  const std::uint64_t most = session.read.most_bytes;
  if (session.read_bytes > most) return {};  // reported
  Result<std::string> bytes = session.read(path);
  session.read_bytes += bytes.ok() ? bytes->size() : 0;
  if (session.read_bytes > most) {
    session.error(node,
                  fmt::format("the files of values have more than {} bytes in all, each counted as "
                              "often as it is named",
                              most),
                  "name each once, among the parameters of the workflow; or split the workflow");
    return {};
  }
  if (!bytes.ok()) {
    session.error(node, fmt::format("the values cannot be read: {}", bytes.error().what),
                  bytes.error().remedy.empty() ? "a path is relative to the spec's directory"
                                               : bytes.error().remedy);
    return {};
  }
  if (!is_text(*bytes)) {
    session.error(node, fmt::format("the file {} is not text in UTF-8", shown), "save it as UTF-8");
    return {};
  }
  if (const std::string why = beyond_limits(*bytes, path); !why.empty()) {
    session.error(node, fmt::format("the file {} {}", shown, why), "split the workflow");
    return {};
  }
  if (is_elsewhere(path)) {
    session.report.add(Severity::note, session.place(node),
                       fmt::format("{} is not in the directory of the workflow file", shown),
                       "make sure that these are the values that you want");
  }
  return *std::move(bytes);
}

std::optional<ParameterValues> read_value_file(const Session& session, const Node& node,
                                               const std::string& path) {
  const std::string shown = torc::quoted(path);
  if (is_table(path)) {
    session.error(node, fmt::format("the columns of the table {} are parameters", shown),
                  fmt::format("write parameters: \"@{}\"", path));
    return {};
  }
  const std::optional<std::string> bytes = read_named_file(session, node, path);
  if (!bytes) return {};
  std::vector<ParameterValue> values;
  for (const std::string_view line : lines_of(without_bom(*bytes))) {
    Result<ParameterValue> value = parse_value(line);
    values.push_back(value.ok() ? *std::move(value) : ParameterValue{std::string(line)});
  }
  if (values.empty()) {
    session.error(node, fmt::format("the file {} holds no values", shown),
                  "write one value per line");
    return {};
  }
  ParameterValues all{std::move(values)};
  if (!session.keeps(node, all)) return {};
  return all;
}

std::vector<Parameter> read_table(const Session& session, const Node& node,
                                  const std::string& path) {
  if (!is_table(path)) {
    session.error(
        node, fmt::format("the table {} is neither CSV nor JSON by its name", torc::quoted(path)),
        "name a file that ends in .csv, .json, .jsonl or .ndjson; a list of values belongs to one "
        "parameter, as name: \"@file\"");
    return {};
  }
  const std::optional<std::string> bytes = read_named_file(session, node, path);
  if (!bytes) return {};
  Result<std::vector<Parameter>> table = parse_table(*bytes, path);
  if (table.ok()) {
    for (Parameter& column : *table) {
      if (!session.keeps(node, column.values)) return {};
      column.table = node.offset + 1;
    }
    return *std::move(table);
  }
  session.error(node, fmt::format("{}: {}", path, table.error().what), table.error().remedy);
  return {};
}

bool check_finite(const Session& session, const Node& node) {
  if (!session.is_not_finite(node)) return true;
  session.error(node, fmt::format("{} is not a finite number", torc::quoted(node.text)),
                "put quotes around it to use it as text");
  return false;
}

// An element of a list in the file; a quoted one stays text.
std::optional<ParameterValue> read_element(const Session& session, const Node& item) {
  if (!check_line(session, item, "a value of a parameter")) return {};
  std::string text = session.text(item);
  if (!item.plain) return ParameterValue{std::move(text)};
  if (!check_finite(session, item)) return {};
  Result<ParameterValue> value = parse_value(text);
  if (!value.ok()) {
    session.error(item, value.error().what, value.error().remedy);
    return {};
  }
  const Result<ParameterValues> range = parse_values(text);
  if (range.ok() && !std::holds_alternative<std::vector<ParameterValue>>(*range)) {
    session.warn(item, fmt::format("{} in a list is a text, not a range", torc::quoted(text)),
                 "write the range alone, without [ ]; or put quotes around it");
  }
  return *std::move(value);
}

std::optional<ParameterValues> read_list(const Session& session, const Node& node) {
  if (node.items.empty()) {
    session.error(node, "a parameter without values", "write at least one value");
    return {};
  }
  std::vector<ParameterValue> values;
  values.reserve(node.items.size());
  for (const Node* item : node.items) {
    if (std::optional<ParameterValue> value = read_element(session, *item))
      values.push_back(*std::move(value));
  }
  if (values.size() != node.items.size()) return {};
  return ParameterValues{std::move(values)};
}

std::optional<ParameterValues> read_values(const Session& session, const Node& node) {
  if (node.kind == NodeKind::sequence) return read_list(session, node);
  if (!check_line(session, node, "the value of a parameter")) return {};
  if (!check_finite(session, node)) return {};
  const std::string text = session.text(node);
  if (text.starts_with('@')) return read_value_file(session, node, text.substr(1));
  Result<ParameterValues> values = parse_values(text);
  if (values.ok()) return *std::move(values);
  session.error(node, values.error().what, values.error().remedy);
  return {};
}

// The paths of files, in the order of their bytes.
std::optional<ParameterValues> read_glob(const Session& session, const Node& node) {
  if (!check_line(session, node, "the value of 'glob'")) return {};
  const std::string pattern = session.text(node);
  if (!session.read.find) {
    session.error(node, "files cannot be looked for here", "write the values as a list");
    return {};
  }
  Result<std::vector<std::string>> found = session.read.find(pattern);
  if (!found) {
    session.error(node, found.error().what, found.error().remedy);
    return {};
  }
  std::ranges::sort(*found);
  std::vector<ParameterValue> values;
  for (std::string& path : *found) {
    if (!is_text(path) || path.find('\n') != std::string::npos || !invisible_in(path).empty()) {
      session.error(node, fmt::format("a file that matches is named {}", torc::quoted(path)),
                    "rename it: a value of a parameter is UTF-8 on one line");
      return {};
    }
    values.emplace_back(std::move(path));
  }
  if (!values.empty()) {
    ParameterValues all{std::move(values)};
    if (!session.keeps(node, all)) return {};
    return all;
  }
  session.error(node, fmt::format("no file matches {}", torc::quoted(pattern)),
                "a pattern is relative to the directory in which torc is called, where jobs run");
  return {};
}

std::optional<ParameterValues> read_parameter(const Session& session, const Node& name,
                                              const Node& value) {
  constexpr std::string_view kForms = "write a range like \"1:100\", or a list like [1, 5, 10]";
  if (value.kind == NodeKind::map && value.items.size() == 2 && value.items[0]->text == "glob")
    return read_glob(session, *value.items[1]);
  if (value.kind == NodeKind::map) {
    session.error(value, "the value of a parameter must be a range or a list, not a map",
                  std::string(kForms));
    return {};
  }
  if (value.kind == NodeKind::null && value.text.empty()) {
    session.error(name, fmt::format("parameter {} has no values", torc::quoted(name.text)),
                  std::string(kForms));
    return {};
  }
  return read_values(session, value);
}

bool check_name(const Session& session, const Node& name) {
  if (!is_identifier(name.text)) {
    session.error(name,
                  fmt::format("{} cannot be the name of a parameter", torc::quoted(name.text)),
                  "use letters, digits and '_', a letter first");
    return false;
  }
  if (session.variables.contains(name.text)) {
    session.error(name, fmt::format("{} is a variable and a parameter", torc::quoted(name.text)),
                  "rename one of the two");
    return false;
  }
  return true;
}

// Whether no parameter can be added to these; that is reported.
bool is_full(const Session& session, const Node& node, const std::vector<Parameter>& parameters) {
  if (parameters.size() < kMostParameters) return false;
  session.error(node,
                fmt::format("more than {} parameters, columns of tables included", kMostParameters),
                "leave out those that nothing uses");
  return true;
}

// False: one is not there.
bool take_from_workflow(const Session& session, const Node& list, std::vector<Parameter>& own) {
  bool sound = true;
  const std::vector<const Node*> items =
      list.kind == NodeKind::scalar ? std::vector<const Node*>{&list} : list.items;
  for (const Node* item : items) {
    const std::string name = session.text(*item);
    if (find(own, name) != nullptr) continue;  // a job's own win
    if (is_full(session, *item, own)) return false;
    const Parameter* shared = find(session.parameters, name);
    if (shared != nullptr) {
      if (!session.keeps(*item, shared->values)) return false;
      const auto beside = std::find_if(own.rbegin(), own.rend(), [&](const Parameter& p) {
        return p.table != 0 && p.table == shared->table;
      });
      own.insert(beside == own.rend() ? own.end() : beside.base(), *shared);
      continue;
    }
    sound = false;
    const std::string guess =
        session.report.guess(name, [&] { return names_of(session.parameters); });
    session.error(*item, fmt::format("the workflow has no parameter {}", torc::quoted(name)),
                  guess.empty() ? "define it under 'parameters' of the workflow"
                                : fmt::format("did you mean {}?", torc::quoted(guess)));
  }
  return sound;
}

// The columns of a table behind the parameters that are there. False: reported.
bool add_table(const Session& session, const Node& node, std::vector<Parameter> table,
               std::vector<Parameter>& parameters) {
  bool sound = !table.empty();
  for (Parameter& column : table) {
    if (find(parameters, column.name) != nullptr) {
      session.error(node,
                    fmt::format("the table has a column {}, and a parameter is called so, too",
                                torc::quoted(column.name)),
                    "rename one of the two");
      sound = false;
    } else if (session.variables.contains(column.name)) {
      session.error(
          node,
          fmt::format("{} is a variable and a column of the table", torc::quoted(column.name)),
          "rename one of the two");
      sound = false;
    } else if (is_full(session, node, parameters)) {
      return false;
    } else {
      parameters.push_back(std::move(column));
    }
  }
  return sound;
}

// The table of its own that an entry names, or that of the workflow. False: reported.
bool take_tables(const MapReader& reader, std::vector<Parameter>& own) {
  const Session& session = reader.session();
  const Node* file = reader.find("parameters_file");
  const Node* use = reader.find("use_parameters_file");
  if (use != nullptr && !reader.boolean("use_parameters_file", false)) use = nullptr;
  if (file != nullptr && use != nullptr) {
    session.error(*use, "'use_parameters_file' beside a 'parameters_file' of its own",
                  "keep one of the two");
    return false;
  }
  if (file != nullptr)
    return add_table(session, *file, read_table(session, *file, session.text(*file)), own);
  if (use == nullptr) return true;
  const auto first = std::ranges::find_if(session.parameters, &Parameter::table);
  if (first == session.parameters.end()) {
    if (session.has_table) return false;  // it could not be read, which was reported
    session.error(*use, "the workflow has no table of parameters",
                  "add 'parameters_file: …' to the workflow");
    return false;
  }
  std::vector<Parameter> table;
  for (const Parameter& p : session.parameters) {
    if (p.table != first->table || find(own, p.name) != nullptr) continue;
    if (!session.keeps(*use, p.values)) return false;
    table.push_back(p);
  }
  return add_table(session, *use, std::move(table), own);
}

// Zipped parameters advance together, so they need equal lengths.
bool check_lengths(const MapReader& reader, const OwnParameters& own) {
  if (own.mode != ParameterMode::zip) return true;
  for (const Parameter& p : own.parameters) {
    const Parameter& first = own.parameters.front();
    const bool sound = count(p.values) > 0 && count(first.values) > 0;
    if (!sound || count(p.values) == count(first.values)) continue;
    reader.session().error(
        *reader.find("parameter_mode"),
        fmt::format("zip needs equal lengths, but {} has {} values and {} has {}",
                    torc::quoted(first.name), count(first.values), torc::quoted(p.name),
                    count(p.values)),
        "make the lengths equal, or use parameter_mode: product");
    return false;
  }
  return true;
}

std::string remedy_for(const Session& session, std::string_view name,
                       const std::vector<Parameter>& parameters) {
  if (find(session.parameters, name) != nullptr) {
    return fmt::format("to take it from the workflow, add use_parameters: [{}]", name);
  }
  const std::string guess = session.report.guess(name, [&] {
    std::vector<std::string> known = names_of(parameters);
    for (const auto& [variable, value] : session.variables) known.push_back(variable);
    return known;
  });
  return guess.empty() ? "" : fmt::format("did you mean {{{}}}?", guess);
}

}  // namespace

std::vector<Parameter> read_parameters(const Session& session, const Node& node) {
  if (node.kind == NodeKind::scalar && node.text.starts_with('@')) {
    return read_table(session, node, session.text(node).substr(1));
  }
  if (node.kind != NodeKind::map) {
    session.error(node, "'parameters' must be a map", "write name: \"1:100\" lines below it");
    return {};
  }
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
    const Node& name = *node.items[i];
    if (!check_name(session, name)) continue;
    if (is_full(session, name, parameters)) return {};
    // Without values after an error: its placeholders shall not be called unknown as well.
    std::optional<ParameterValues> values = read_parameter(session, name, *node.items[i + 1]);
    parameters.push_back(
        {name.text, values ? *std::move(values) : ParameterValues{std::vector<ParameterValue>{}}});
  }
  return parameters;
}

void read_shared_parameters(Session& session, const MapReader& reader) {
  if (const Node* node = reader.find("parameters"))
    session.parameters = read_parameters(session, *node);
  const Node* file = reader.find("parameters_file");
  session.has_table = file != nullptr || reader.rejected("parameters_file");
  if (file == nullptr) return;
  if (std::ranges::any_of(session.parameters, &Parameter::table)) {
    session.error(*file, "'parameters_file' beside 'parameters' that are a table",
                  "keep one of the two");
    return;
  }
  (void)add_table(session, *file, read_table(session, *file, session.text(*file)),
                  session.parameters);
}

OwnParameters read_own_parameters(const MapReader& reader) {
  OwnParameters own;
  if (const Node* node = reader.find("parameters"))
    own.parameters = read_parameters(reader.session(), *node);
  if (const Node* node = reader.find("parameters"))  // what was left out was reported
    own.complete = node->kind == NodeKind::map ? own.parameters.size() * 2 == node->items.size()
                                               : !own.parameters.empty();
  for (const std::string_view key :
       {"parameters", "use_parameters", "parameters_file", "use_parameters_file"})
    own.complete = own.complete && !reader.rejected(key);
  own.complete = take_tables(reader, own.parameters) && own.complete;
  if (const Node* list = reader.find("use_parameters"))
    own.complete = take_from_workflow(reader.session(), *list, own.parameters) && own.complete;
  own.mode = reader.choice<ParameterMode>("parameter_mode");
  own.sound = check_lengths(reader, own) && own.complete;
  for (const Parameter& p : own.parameters) own.sound = own.sound && count(p.values) > 0;
  return own;
}

bool check_placeholders(const Session& session, const Node& node,
                        const std::vector<Parameter>& parameters, InName in_name) {
  if (node.text.find('{') == std::string::npos) return true;
  bool sound = true;
  const std::string text = session.text(node);
  for (const Placeholder& p : placeholders(text)) {
    if (find(parameters, p.name) != nullptr) continue;
    const std::string remedy = remedy_for(session, p.name, parameters);
    const Place place =
        place_within(session.source, session.place(node), text, p.begin, p.end - p.begin);
    if (in_name == InName::yes) {
      sound = false;
      session.report.error(
          place, fmt::format("no parameter and no variable is named {}", torc::quoted(p.name)),
          remedy.empty() ? "define it under 'parameters', or write the name without braces"
                         : remedy);
    } else if (!remedy.empty()) {
      session.report.add(
          Severity::warning, place,
          fmt::format("{{{}}} stays as it is: no parameter of this job has that name", p.name),
          remedy);
    }
  }
  return sound;
}

}  // namespace torc::spec
