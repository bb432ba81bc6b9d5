#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "lib/claim/audit/verify_parts.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/definition.h"
#include "lib/claim/tables/origin.h"

namespace torc::claim {
namespace {

// Whether nobody comes from himself.
class Descent {
 public:
  void add(const Origin& origin) {
    if (raw(origin.parent) != 0) spawned_.push_back({origin.jobs, raw(origin.parent)});
  }
  // The first job of an addition that does; 0: none.
  [[nodiscard]] std::uint64_t find_circle() {
    enum class Way : std::uint8_t { unknown, under_way, to_a_beginning };
    std::vector<Way> ways(spawned_.size(), Way::unknown);
    for (std::size_t i = 0; i < spawned_.size(); ++i) {
      std::vector<std::size_t> passed;
      std::optional<std::size_t> at = i;
      for (; at && ways[*at] == Way::unknown; at = addition_of(spawned_[*at].parent)) {
        ways[*at] = Way::under_way;
        passed.push_back(*at);
      }
      if (at && ways[*at] == Way::under_way) return raw(spawned_[*at].jobs.first);
      for (const std::size_t one : passed) ways[one] = Way::to_a_beginning;
    }
    return 0;
  }

 private:
  struct Spawned {
    JobRange jobs;
    std::uint64_t parent = 0;
  };
  [[nodiscard]] std::optional<std::size_t> addition_of(std::uint64_t id) const {
    const auto after = std::ranges::upper_bound(spawned_, JobId{id}, {},
                                                [](const Spawned& s) { return s.jobs.first; });
    if (after == spawned_.begin()) return {};
    const auto before = std::prev(after);
    if (id - raw(before->jobs.first) >= before->jobs.count) return {};
    return static_cast<std::size_t>(before - spawned_.begin());
  }

  std::vector<Spawned> spawned_;  // by their first jobs
};

// The jobs from the first that was added on, each in one addition, by a job that is there.
Result<void> audit_origins(const Reader& reader, std::uint64_t jobs) {
  Additions found;
  std::uint64_t next = 0;
  std::optional<Additions> listed;
  Descent descent;
  TORC_TRY(each(reader, Table::addition, [&](const store::Entry& e) -> Result<void> {
    if (e.key.size() == 1) {
      listed = decode_additions(e.value);
      return listed ? Result<void>() : unreadable(e.key);
    }
    const auto origin = decode_origin(e.key, e.value);
    if (!origin) return unreadable(e.key);
    const std::uint64_t first = raw(origin->jobs.first);
    if (found.count++ == 0) found.first = next = first;
    if (first != next || origin->jobs.count == 0) {
      return wrong(fmt::format("an addition begins at job {} where {} follows", first, next));
    }
    if (raw(origin->parent) > jobs || raw(origin->root) > jobs) {
      return wrong(fmt::format("job {} was added by a job that is not there", first));
    }
    descent.add(*origin);
    next = first + origin->jobs.count;
    return {};
  }));
  const Additions told = listed.value_or(Additions{});
  if (told.count != found.count || told.first != found.first) {
    return wrong(fmt::format("{} additions are counted where {} are", told.count, found.count));
  }
  if (found.count > 0 && next != jobs + 1)
    return wrong(fmt::format("nobody knows where job {} comes from", next));
  if (const std::uint64_t first = descent.find_circle(); first != 0)
    return wrong(fmt::format("job {} was added by a job that comes from it", first));
  return {};
}

}  // namespace

Result<void> audit_additions(const Reader& reader, std::uint64_t jobs) {
  TORC_TRY(audit_origins(reader, jobs));
  std::uint64_t told = 0;
  std::uint64_t found = 0;
  TORC_TRY(each(reader, Table::definition, [&](const store::Entry& e) -> Result<void> {
    if (e.key.size() > 1) return ++found, Result<void>();
    const auto count = decode_definition_count(e.value);
    if (!count) return unreadable(e.key);
    told = *count;
    return {};
  }));
  if (told == found) return {};
  return wrong(fmt::format("{} definitions are counted where {} are", told, found));
}

}  // namespace torc::claim
