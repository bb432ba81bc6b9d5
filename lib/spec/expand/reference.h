// What the names and expressions in an entry refer to, for each of its jobs.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/families.h"
#include "lib/spec/sweep/range.h"
#include "lib/spec/text/source.h"

namespace re2 {
class RE2;
}

namespace torc::spec {

// Says what find_bad_placeholders() finds in the text of a value that stands at `place`.
void report_bad_placeholders(Report& report, Place place, std::string_view text,
                             std::span<const Parameter> parameters);

// A text of an entry that refers to jobs or files.
struct Reference {
  const Family* from = nullptr;  // whose placeholders are filled in
  std::string_view text;
  Place place;
};

// Names that are not in the file: those of the workflow that is added to.
class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  [[nodiscard]] virtual std::optional<std::uint64_t> find(std::string_view name) = 0;
  // As Families::find_open() and match(). Both append.
  virtual void find_open(std::string_view text, std::vector<Range>& out) = 0;
  virtual void match(const re2::RE2& expression, std::vector<Range>& out) = 0;
  // Some names, at most `most` in all, for who looks for a near one.
  virtual void add_names(std::vector<std::string>& out, std::size_t most) = 0;
};

// Looks among all jobs, or all files; reports what is not there.
class Resolver {
 public:
  // `kind`: "job", "file" or "user data". All three must outlive the resolver.
  Resolver(Families& targets, std::string_view kind, Report& report)
      : targets_(targets), kind_(kind), report_(report) {}

  // Where to look for what is not among the targets. Outlives the resolver.
  void look_also_in(Elsewhere& elsewhere) { elsewhere_ = &elsewhere; }

  // What an entry of this name may stand for is not reported: the entry is broken and was reported
  // itself. Braces in it stand for anything.
  void forgive(std::string_view name) { forgiven_.emplace_back(name); }

  // nullopt: reported (or forgiven).
  std::optional<RangeMap> names(const Reference& reference);
  std::optional<RangeMap> expression(const Reference& reference);

 private:
  struct Unknown {
    std::string first;
    std::size_t count = 0;
  };

  bool look_up(const std::string& name, std::vector<Range>& out, Unknown& unknown);
  void report_unknown(const Reference& reference, const Unknown& unknown);
  const std::vector<std::string>& candidates();
  // nullptr: not an expression; reported.
  const std::vector<Range>* matches(const std::string& expression, Place place);

  Families& targets_;
  Elsewhere* elsewhere_ = nullptr;
  std::string_view kind_;
  Report& report_;
  std::vector<std::string> forgiven_;
  std::vector<std::string> candidates_;
  std::size_t suggestions_ = 0;
  std::map<std::string, std::vector<Range>> matches_;
};

}  // namespace torc::spec
