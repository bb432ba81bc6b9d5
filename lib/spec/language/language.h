// The workflow language as data: every key, where it belongs, what it holds, whether this version
// runs it. The parser checks by this table and nothing else knows the keys; a schema or a page of
// help can be printed from it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace torc::spec {

// The kinds of map that a spec is made of.
enum class Where : std::uint8_t {
  workflow,
  job,
  file,
  user_data,
  resources,
  alternative,  // of one_of
  scheduler,
  execution,
  stdio,
  dynamic_jobs,
  action,
  failure_handler,
  failure_rule,
  budget,
  lease,
  monitor,
  monitor_part,
  depends,
  dataset,
  allocate,
  addition,  // to a workflow in a store: some keys of the workflow
  none
};

enum class Type : std::uint8_t {
  word,          // text on one line, not empty
  line,          // text on one line
  text,          // any text, not empty
  prose,         // any text
  integer,       // within [min, max]
  boolean,       // true or false
  memory,        // 512k, 100m, 2g, 1t, 2GiB, plain bytes
  duration,      // PT30M, 30m, 1h30m, 1:30:00, 2-12:00:00
  walltime,      // as sbatch --time takes it
  signal,        // SIGTERM, TERM or 15
  signal_ahead,  // as srun --signal takes it: TERM@120
  choice,        // one of `choices`
  names,         // one text, or a list of texts, each on one line
  integers,      // list of whole numbers, each within [min, max]
  decimal,       // a number above 0, at most `max`
  fraction,      // from 0 to 1: 0.5, 50%
  selection,     // one of `choices`, or a list of some
  counts,        // map of names to whole numbers within [min, max]
  shares,        // the same, or one name or a list of names, which is 1 of each
  gpus,          // a whole number within [min, max], a part of one, or all
  amounts,       // map of names of resources to amounts: 2, 0.25, all
  map,           // one map of kind `child`
  maps,          // list of maps of kind `child`
  named_maps,    // map of names to maps of kind `child`
  environment,   // map of variable names to texts
  constants,     // map of names to texts
  parameters,    // map of names to ranges, lists, '@file'
  options,       // map of sbatch options to values
  json,          // a map, or a text that is JSON
  value,         // anything that JSON can say
  any            // not looked at
};

enum class Support : std::uint8_t {
  yes,
  ignored,  // accepted; a note says that it has no effect here
  planned   // part of the language and checked, but this version cannot run it: `check` notes it,
            // `init` refuses it by name
};

struct Key {
  Where where = Where::none;
  std::string_view name = {};
  Type type = Type::line;
  Support support = Support::yes;
  bool required = false;
  Where child = Where::none;
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::string_view choices = {};  // separated by blanks
  std::string_view planned = {};  // those of the choices that this version cannot run
  std::string_view same_as = {};  // another spelling of that key
  std::string_view mode = {};   // of execution_config: the one mode that it belongs to; empty: all
  std::string_view about = {};  // one line; `ignored`: why
  std::string_view instead = {};  // `planned`: what to do meanwhile, if anything
};

[[nodiscard]] std::span<const Key> language();
[[nodiscard]] const Key* find_key(Where where, std::string_view name);
[[nodiscard]] std::vector<std::string> key_names(Where where);

// What `name` of `where` stands for: itself, or the key whose other spelling it is.
[[nodiscard]] const Key* meaning_of(const Key& key);

// As a sentence has it: "a job", "the workflow".
[[nodiscard]] std::string_view with_article(Where where);
// As the schema has it: "job", "workflow".
[[nodiscard]] std::string_view schema_name(Where where);
// "a list of texts", "a whole number".
[[nodiscard]] std::string_view with_article(Type type);

// The words of a blank-separated list.
[[nodiscard]] std::vector<std::string> words_of(std::string_view list);

// The language as a JSON Schema (draft 2020-12), for editors: made from the table that the parser
// reads by, so it cannot fall behind.
// It accepts every file that the parser accepts, and some that it refuses: what no schema can say
// (names that must exist, jobs that wait for each other) is for `torc check`. Numbers and booleans
// may hold placeholders nowhere; texts may be written as numbers, as YAML allows.
[[nodiscard]] std::string json_schema();

}  // namespace torc::spec
