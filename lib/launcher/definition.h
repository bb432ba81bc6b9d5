// A batch system as a file tells of it: the commands that submit, list and cancel, and how their
// answers are read. docs/user/launchers.md has all keys.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/slurm/shown.h"
#include "lib/spec/text/source.h"

namespace re2 {
class RE2;
}

namespace torc::launcher {

// RE2, whose matching takes time in proportion to the text whatever the expression.
using Pattern = std::shared_ptr<const re2::RE2>;
using Patterns = std::vector<Pattern>;

using Template = std::vector<std::string>;  // words, in which {placeholders} stand for values

// How the text of an answer becomes allocations. An answer is whole when the command succeeded, its
// text begins and ends as these say, and everything between belongs to a record or is `others`.
struct Answer {
  Template command;
  std::string continued;  // what goes on with a line is joined to it; empty: nothing does
  Pattern begins;         // null: nothing has to
  Pattern ends;           // null: nothing has to
  Pattern none;           // a line that says that there is nothing to list; null: none does
  Pattern record;         // one allocation
  Patterns others;        // lines that are no part of a record
  // The first group of each, in a record.
  struct Fields {
    Pattern id;      // always
    Pattern name;    // of the job; null: not told
    Pattern intent;  // which is told apart from the name; null: it is the name
    Pattern state;   // null: what is listed is over
    Pattern reason;
    Pattern user;  // null: only the user's own are listed
    Pattern submitted;
    Pattern start;
    Pattern end;
    Pattern nodes;
  } fields;
  std::string times;  // as strptime(3) takes it; empty: "2026-11-26T18:10:08", or seconds
};

struct Exclusion {
  Template words;    // {nodes}: all of them
  std::string each;  // {node}
  std::string join;
};

struct Definition {
  std::string launcher;     // its name: "gridengine"
  std::string prefix;       // of the names of jobs
  std::size_t longest = 0;  // bytes of such a name; 0: as long as a try's name can be
  Template submit;
  std::optional<Exclusion> exclude;  // none: nodes cannot be excluded
  Pattern accepted;                  // a line; the first group is the id
  Patterns refused;
  Patterns later;
  Patterns not_from_here;
  Answer queue;
  std::vector<std::pair<Pattern, slurm::Stage>> stages;  // of the whole word of a state
  std::optional<Answer> accounting;
  std::string since;  // as strftime(3) takes it: how {since} is written
  Template cancel;    // {ids}: a word each
  Patterns past;      // lines that say that it had ended already
  // Of a batch script: how a line of options begins ("#$"), those that each script has, the one for
  // a walltime ({seconds}, {minutes}; empty: there is none), the variable with the id of the job
  // that it runs as, and that with the number of its CPUs (empty: the system tells none).
  std::string directive = "#";
  std::vector<std::string> options;
  std::string walltime;
  std::string id_variable;
  std::string cpus_variable;
  Template cluster;  // empty: it has no name
  Pattern cluster_name;
};

inline constexpr std::size_t kMostDefinitionBytes = 1U << 20U;

// nullopt: it has mistakes, which the report has; unknown keys and placeholders are some.
[[nodiscard]] std::optional<Definition> read_definition(const spec::Source& source,
                                                        spec::Report& report);

// The texts that are part of the program, of scripts/launchers/: by name; empty: there is none.
[[nodiscard]] std::string_view built_in_definition(std::string_view launcher);
[[nodiscard]] const std::vector<std::string_view>& built_in_launchers();  // their names

}  // namespace torc::launcher
