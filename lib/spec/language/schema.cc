#include <nlohmann/json.hpp>

#include "lib/base/amounts.h"
#include "lib/spec/language/language.h"

namespace torc::spec {
namespace {

using Json = nlohmann::ordered_json;

// A plain scalar of YAML that looks like a number or a boolean is one to a schema, and a text to
// torc.
Json text_of(bool may_be_empty) {
  Json text = {{"type", Json::array({"string", "number", "boolean"})}};
  if (!may_be_empty) text["minLength"] = 1;
  return text;
}

Json list_of(Json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

Json one_or_list(const Json& item) {
  return {{"anyOf", Json::array({item, list_of(item)})}};
}

Json map_of(Json values) {
  return {{"type", "object"}, {"additionalProperties", std::move(values)}};
}

Json integer_of(const Key& key) {
  Json integer = {{"type", "integer"}};
  if (key.min != std::numeric_limits<std::int64_t>::min()) integer["minimum"] = key.min;
  if (key.max != std::numeric_limits<std::int64_t>::max()) integer["maximum"] = key.max;
  return integer;
}

Json choice_of(const Key& key) {
  return {{"enum", words_of(key.choices)}};
}

Json reference_to(Where where);

Json parameters_of() {
  const Json value = text_of(false);
  const Json glob = {{"type", "object"},
                     {"properties", {{"glob", value}}},
                     {"required", Json::array({"glob"})},
                     {"additionalProperties", false}};
  return {{"anyOf", Json::array({map_of({{"anyOf", Json::array({value, list_of(value), glob})}}),
                                 Json{{"type", "string"},
                                      {"pattern", "^@.*\\.(csv|json|jsonl|ndjson)$"}}})}};
}

Json values_of(const Key& key) {
  switch (key.type) {
    case Type::word:
    case Type::text:
    case Type::memory:
    case Type::walltime:
    case Type::signal:
    case Type::signal_ahead:
      return text_of(false);
    case Type::duration:
      return {{"type", "string"}, {"pattern", "^[PpTt0-9.]"}};
    case Type::line:
    case Type::prose:
      return text_of(true);
    case Type::integer:
      return integer_of(key);
    case Type::integers:
      return list_of(integer_of(key));
    case Type::decimal:
      return {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", key.max}};
    case Type::fraction:
      return {{"anyOf", Json::array({Json{{"type", "number"}, {"minimum", 0}, {"maximum", 1}},
                                     Json{{"type", "string"}, {"pattern", "^[0-9.]+%?$"}}})}};
    case Type::boolean:
      return {{"type", "boolean"}};
    case Type::choice:
      return choice_of(key);
    case Type::selection:
      return one_or_list(choice_of(key));
    case Type::names:
      return one_or_list(text_of(false));
    case Type::map:
      return reference_to(key.child);
    case Type::maps:
      return list_of(reference_to(key.child));
    case Type::named_maps:
      return map_of(reference_to(key.child));
    case Type::environment:
    case Type::constants:
    case Type::options:
      return map_of({{"type", Json::array({"string", "number", "boolean", "null"})}});
    case Type::gpus: {
      const Json part = {{"type", "number"}, {"exclusiveMinimum", 0}, {"exclusiveMaximum", 1}};
      return {{"anyOf", Json::array({integer_of(key), part, Json{{"const", "all"}}})}};
    }
    case Type::amounts:
      return map_of({{"anyOf", Json::array({Json{{"type", "number"},
                                                 {"exclusiveMinimum", 0},
                                                 {"maximum", kMostAmount / kWhole}},
                                            Json{{"const", "all"}}})}});
    case Type::counts:
      return map_of(integer_of(key));
    case Type::shares: {
      Json forms = one_or_list(text_of(false));
      forms["anyOf"].push_back(map_of(integer_of(key)));
      return forms;
    }
    case Type::parameters:
      return parameters_of();
    case Type::json:
      return {{"type", Json::array({"object", "string", "array"})}};
    case Type::value:
    case Type::any:
      break;
  }
  return Json::object();
}

Json reference_to(Where where) {
  return {{"$ref", "#/$defs/" + std::string(schema_name(where))}};
}

// Any key may be empty, which is as if it were not there, unless it is required.
Json property(const Key& key) {
  Json values = values_of(key);
  if (!key.required && !values.empty())
    values = {{"anyOf", Json::array({std::move(values), Json{{"type", "null"}}})}};
  std::string about(key.about);
  if (key.support == Support::planned)
    about += (about.empty() ? "" : "; ") + std::string("not run by this version");
  if (key.support == Support::ignored) about = "has no effect: " + about;
  if (!about.empty()) values["description"] = about;
  return values;
}

Json object_of(Where where) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Key& key : language()) {
    if (key.where != where) continue;
    properties[std::string(key.name)] = property(key);
    if (key.required) required.push_back(key.name);
  }
  // Merge keys of YAML are gone when an editor looks at the values, but not in all of them.
  properties["<<"] = Json::object();
  Json object = {
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) object["required"] = std::move(required);
  return object;
}

}  // namespace

std::string json_schema() {
  Json definitions = Json::object();
  for (const Key& key : language()) {
    const std::string name(schema_name(key.where));
    if (key.where != Where::workflow && !definitions.contains(name))
      definitions[name] = object_of(key.where);
  }
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "torc workflow"}};
  schema.update(object_of(Where::workflow));
  schema["$defs"] = std::move(definitions);
  return schema.dump(2) + "\n";
}

}  // namespace torc::spec
