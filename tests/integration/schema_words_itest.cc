// One word for one thing in all that --json prints (docs/user/commands.md, "What --json looks
// like"): what of these rules can be seen in the schemas of docs/schema, and that they have the
// values that the program has. That the output fits them is held by schema_itest.cc.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "lib/claim/audit/history.h"
#include "lib/claim/rules/action.h"
#include "lib/claim/rules/condition.h"
#include "lib/claim/rules/job.h"
#include "lib/report/diagnosis/causes.h"
#include "lib/slurm/verdict.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;
using Schemas = std::map<std::string, json>;  // by file name; without that of workflow files
using Lines = std::vector<std::string>;
namespace fs = std::filesystem;

const Path kSchemas = Path(TORC_SOURCE_DIR) / "docs/schema";

Schemas read_schemas() {
  Schemas schemas;
  for (const auto& entry : fs::directory_iterator(kSchemas)) {
    if (entry.path().filename() != "workflow.json")
      schemas[entry.path().filename()] = json::parse(read_text(entry.path()));
  }
  return schemas;
}

// A key of a document, at one of the places where there is one.
struct Field {
  std::string place;        // "status.json /properties/jobs"
  std::string description;  // its own, or that of what it refers to
  std::set<std::string> types;
  std::set<std::string> refers_to;
};

bool ends_in(const std::string& key, const std::string& word) {
  return key == word || key.ends_with("_" + word);
}

bool is_snake_case(const std::string& word) {
  static const std::regex form("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  return std::regex_match(word, form);
}

// What is the same at all places; what is said of one place comes behind it.
std::string meaning_of(const std::string& description) {
  return description.substr(0, description.find(';'));
}

class Rules {
 public:
  explicit Rules(const Schemas& schemas) : schemas_(schemas) {
    for (const auto& [file, schema] : schemas) collect(file, schema, file + " ");
    for (const auto& [key, fields] : fields_) {
      for (const Field& field : fields) look_at(key, field);
      agree(key, fields);
    }
  }
  Lines broken;
  [[nodiscard]] std::size_t keys() const { return fields_.size(); }

 private:
  void tell(const Field& field, const std::string& what) {
    broken.push_back(field.place + ": " + what);
  }

  void collect(const std::string& file, const json& schema, const std::string& place) {
    if (!schema.is_structured()) return;
    const bool is_object = schema.is_object();
    if (is_object && schema.contains("enum")) {
      for (const json& value : schema["enum"]) {
        if (!is_snake_case(value)) broken.push_back(place + ": value " + value.dump());
      }
    }
    for (const auto& item : schema.items()) {
      const std::string at = place + "/" + item.key();
      collect(file, item.value(), at);
      if (!is_object || item.key() != "properties") continue;
      for (const auto& property : item.value().items()) {
        Field field{at + "/" + property.key(), {}, {}, {}};
        describe(file, property.value(), field);
        fields_[property.key()].push_back(std::move(field));
      }
    }
  }

  // `file` is where a reference without a file points to.
  void describe(const std::string& file, const json& schema, Field& field) const {
    if (schema.is_boolean()) return;
    if (field.description.empty()) field.description = schema.value("description", "");
    if (schema.contains("enum")) field.types.insert("string");
    if (schema.contains("type")) {
      const json& type = schema["type"];
      for (const json& one : type.is_array() ? type : json::array({type})) field.types.insert(one);
    }
    if (schema.contains("anyOf")) {
      for (const json& one : schema["anyOf"]) describe(file, one, field);
    }
    if (!schema.contains("$ref")) return;
    const std::string ref = schema["$ref"];
    field.refers_to.insert(ref);
    const std::size_t hash = ref.find('#');
    const std::string target = hash == 0 ? file : ref.substr(0, hash);
    describe(target, schemas_.at(target).at(json::json_pointer(ref.substr(hash + 1))), field);
  }

  void look_at(const std::string& key, const Field& field) {
    if (!is_snake_case(key)) tell(field, "is not snake_case");
    if (field.description.empty()) tell(field, "has no description");
    look_at_words(key, field);
    look_at_units(key, field);
    look_at_null(field);
    look_at_endings(key, field);
  }

  // Words that stand for the same thing as another one.
  void look_at_words(const std::string& key, const Field& field) {
    static const std::map<std::string, std::string> kInstead = {{"sequence", "commit"},
                                                                {"why", "reason"},
                                                                {"because", "reason, canceled_for"},
                                                                {"what", "damage"},
                                                                {"text", "message"},
                                                                {"rss", "peak_memory_bytes"},
                                                                {"most", "limit, max"},
                                                                {"longest", "max"},
                                                                {"living", "registered"},
                                                                {"alive", "registered"},
                                                                {"since", "…_at"},
                                                                {"time", "…_at, …_seconds"},
                                                                {"date", "…_at"},
                                                                {"seen", "…_at"},
                                                                {"count", "a plural"},
                                                                {"counts", "…_by_state"},
                                                                {"number", "a plural"},
                                                                {"num", "a plural"},
                                                                {"path", "file, directory"},
                                                                {"root", "directory, root_job"},
                                                                {"is", "no is_"},
                                                                {"there", "existing"},
                                                                {"verdict", "a boolean"}};
    // Of two words that mean something else together.
    static const std::set<std::string> kFine = {"root_job",
                                                "never_seen",
                                                "critical_path",
                                                "critical_path_seconds",
                                                "min_time_seconds",
                                                "time_limit_seconds",
                                                "shared_file_content_in_time",
                                                "new_content_in_time"};
    if (key == "id") tell(field, "whose? job_id, store_id");
    if (kFine.contains(key)) return;
    std::istringstream words(key);
    for (std::string word; std::getline(words, word, '_');) {
      const auto instead = kInstead.find(word);
      if (instead != kInstead.end()) tell(field, "instead of '" + word + "': " + instead->second);
    }
  }

  void look_at_units(const std::string& key, const Field& field) {
    for (const char* unit : {"s", "ms", "us", "ns", "sec", "secs", "min", "mins", "minutes", "h",
                             "kb", "mb", "gb", "kib", "mib", "gib"}) {
      if (key.ends_with(std::string("_") + unit)) tell(field, "unit: seconds, hours or bytes");
    }
    const bool is_number = field.types.contains("number") || field.types.contains("integer");
    bool has_unit = false;
    for (const char* unit :
         {"seconds", "bytes", "hours", "share", "per_second", "per_commit", "at"}) {
      if (!ends_in(key, unit)) continue;
      has_unit = true;
      if (!is_number) tell(field, std::string("has a unit and is not a number: ") + unit);
    }
    if (field.types.contains("number") && !has_unit) tell(field, "a number without its unit");
    const bool is_time = field.refers_to.contains("common.json#/$defs/time") ||
                         field.refers_to.contains("common.json#/$defs/time_or_null");
    if (is_time != ends_in(key, "at")) tell(field, "times, and they alone, are …_at");
  }

  void look_at_null(const Field& field) {
    const std::string& text = field.description;
    const bool is_said = text.find("null: ") != std::string::npos;
    if (!field.types.empty() && field.types.contains("null") != is_said)
      tell(field, "can be null and does not say when, or the other way round");
    if (field.types.contains("null") && field.types.contains("boolean"))
      tell(field, "a boolean that can be null");
    if (text.find("; 0: ") != std::string::npos || text.find("; empty: ") != std::string::npos)
      tell(field, "what is not there is null");
  }

  void look_at_endings(const std::string& key, const Field& field) {
    static const std::map<std::string, std::string> kEndings = {
        {"jobs", "integer"},    {"workers", "integer"}, {"files", "integer"}, {"names", "array"},
        {"by_state", "object"}, {"by_kind", "object"},  {"latency", "object"}};
    static const std::set<std::string> kLists = {"workers", "read_files", "damaged_files",
                                                 "several_workers"};
    for (const auto& [ending, type] : kEndings) {
      if (ends_in(key, ending) && !kLists.contains(key) && !field.types.contains(type))
        tell(field, "…" + ending + " is of type " + type);
    }
  }

  // All places of one key say the same of it.
  void agree(const std::string& key, const std::vector<Field>& fields) {
    const auto type_of = [](Field field) {
      field.types.erase("null");
      return field.types;
    };
    for (const Field& field : fields) {
      if (meaning_of(field.description) != meaning_of(fields[0].description)) {
        tell(field, key + " is '" + meaning_of(field.description) + "' here and '" +
                        meaning_of(fields[0].description) + "' in " + fields[0].place);
      }
      if (type_of(field) != type_of(fields[0]))
        tell(field, key + " has another type in " + fields[0].place);
    }
  }

  const Schemas& schemas_;
  std::map<std::string, std::vector<Field>> fields_;
};

TEST(SchemaWords, are_one_for_one_thing) {
  const Schemas schemas = read_schemas();
  const Rules rules(schemas);
  EXPECT_GE(rules.keys(), 200U) << "the schemas are not understood";
  for (const std::string& line : rules.broken) ADD_FAILURE() << line;
}

// --- that it would be seen ---

struct Slip {
  std::string name;
  std::string key;  // of `torc status`, in place of its field `jobs`
  json schema;
  std::string told;
};

void PrintTo(const Slip& slip, std::ostream* out) {
  *out << slip.name;
}

class SchemaSlip : public testing::TestWithParam<Slip> {};

TEST_P(SchemaSlip, is_told) {
  Schemas schemas = read_schemas();
  json& fields = schemas["status.json"]["properties"];
  fields.erase("jobs");
  fields[GetParam().key] = GetParam().schema;
  const Rules rules(schemas);
  ASSERT_FALSE(rules.broken.empty());
  for (const std::string& line : rules.broken) {
    EXPECT_TRUE(line.find("status.json /properties/" + GetParam().key) == 0 &&
                line.find(GetParam().told) != std::string::npos)
        << line;
  }
}

json field(const json& type, const std::string& description) {
  return {{"type", type}, {"description", description}};
}

INSTANTIATE_TEST_SUITE_P(
    Each, SchemaSlip,
    testing::Values(
        Slip{"case", "newJobs", field("integer", "new ones"), "snake_case"},
        Slip{"value", "mood", {{"enum", {"very-good"}}, {"description", "mood"}}, "very-good"},
        Slip{"description", "mood", {{"type", "string"}}, "no description"},
        Slip{"synonym", "last_sequence", field("integer", "the last"), "commit"},
        Slip{"id", "id", field("integer", "its number"), "whose?"},
        Slip{"unit", "wait_ms", field("integer", "the wait"), "seconds, hours or bytes"},
        Slip{"no_unit", "wait", field("number", "the wait"), "without its unit"},
        Slip{"no_number", "wait_seconds", field("string", "the wait"), "is not a number"},
        Slip{"time", "made_at", field("number", "when it was made"), "…_at"},
        Slip{"null", "mood", field({"string", "null"}, "mood"), "does not say when"},
        Slip{"boolean", "good", field({"boolean", "null"}, "good; null: bad"), "a boolean"},
        Slip{"zero", "moods", field("integer", "moods; 0: none"), "is null"},
        Slip{"ending", "good_jobs", field({"array"}, "good ones"), "of type integer"},
        Slip{"meaning", "jobs", field("integer", "jobs of the workflow"), "here and"},
        Slip{"type", "host", field("integer", "name of the host"), "another type"}),
    [](const auto& tested) { return tested.param.name; });

// --- what is kept twice ---

std::set<std::string> values_of(const json& schema) {
  return schema["enum"].get<std::set<std::string>>();
}

// All that `name` says of 0, 1, …, up to the first that it does not know.
template <class Value>
std::set<std::string> names_of(std::size_t first = 0) {
  std::set<std::string> names;
  for (std::size_t i = first;; ++i) {
    const std::string name(to_string(static_cast<Value>(i)));
    if (name == "?") return names;
    names.insert(name);
  }
}

TEST(SchemaValues, are_those_of_the_program) {
  const json common = json::parse(read_text(kSchemas / "common.json"))["$defs"];
  EXPECT_EQ(values_of(common["job_state"]), names_of<claim::JobState>());
  EXPECT_EQ(values_of(common["end_cause"]), names_of<claim::EndCause>(1)) << "0 is: none yet";
  EXPECT_EQ(values_of(common["condition"]), names_of<claim::Condition>());
  EXPECT_EQ(values_of(common["slurm"]["items"]["properties"]["answer"]),
            names_of<slurm::Verdict>());
  std::set<std::string> events;
  for (std::size_t i = 0; i < claim::kEventKinds; ++i)
    events.emplace(claim::to_string(static_cast<claim::EventKind>(i)));
  EXPECT_EQ(values_of(common["event_kind"]), events);
  std::set<std::string> triggers;
  for (std::size_t i = 0; i < claim::kTriggers; ++i)
    triggers.emplace(claim::to_string(static_cast<claim::Trigger>(i)));
  const json actions = json::parse(read_text(kSchemas / "actions.json"));
  EXPECT_EQ(values_of(actions["items"]["properties"]["trigger"]), triggers);
  std::set<std::string> diagnoses;
  for (std::size_t i = 0; i < report::kCauses; ++i)
    diagnoses.emplace(report::row_of(static_cast<report::Cause>(i)).word);
  EXPECT_EQ(values_of(common["diagnosis"]), diagnoses);
}

TEST(WorkflowSchema, in_the_documents_is_the_one_that_the_program_prints) {
  const Workplace here;
  EXPECT_TRUE(read_text(kSchemas / "workflow.json") == here.run({"schema"}).out)
      << "make it anew: build/torc schema > docs/schema/workflow.json";
}

TEST(WorkflowSchema, is_named_by_every_example) {
  std::size_t examples = 0;
  for (const auto& entry : fs::recursive_directory_iterator(Path(TORC_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    ++examples;
    const std::string mark = "# yaml-language-server: $schema=";
    const std::string line = lines_of(read_text(entry.path())).at(0);
    ASSERT_TRUE(line.starts_with(mark)) << entry.path();
    EXPECT_TRUE(fs::equivalent(entry.path().parent_path() / line.substr(mark.size()),
                               kSchemas / "workflow.json"))
        << entry.path();
  }
  EXPECT_GE(examples, 4U);
}

}  // namespace
}  // namespace torc::itest
