// A new version of a workflow file against the store that was made from an older one.
#include <fmt/format.h>

#include <map>
#include <set>

#include "bin/quote.h"
#include "bin/stale.h"
#include "lib/claim/tables.h"
#include "lib/store/memory_state.h"

namespace torc::cli {
namespace {

using claim::Table;

// What says which jobs there are and who waits for whom, and never changes once written.
constexpr Table kShape[] = {Table::barrier, Table::upstream, Table::name, Table::sweep};

Error other_jobs(std::string how) {
  return Error{ErrorKind::invalid,
               "the new workflow file describes another workflow: " + std::move(how),
               "reinit takes new commands, files and user data of the same jobs; for other jobs "
               "make a new store with `torc init`"};
}

Result<void> compare_shape(const claim::Reader& reader, const store::MemoryState& wanted) {
  for (const Table table : kShape) {
    std::uint64_t here = 0;
    std::uint64_t there = 0;
    bool alike = true;
    reader.scan_prefix(claim::Key(table), [&](const store::Entry& e) {
      ++here;
      const auto value = wanted.get(e.key);
      alike = value && *value == e.value;
      return alike;
    });
    wanted.scan_prefix(claim::Key(table), [&](const store::Entry&) { return ++there > 0; });
    if (alike && here == there) continue;
    const bool names = table == Table::name || table == Table::sweep;
    return other_jobs(names ? "it has other jobs, or the same in another order"
                            : "its jobs wait for other jobs");
  }
  return {};
}

Result<void> compare_names(const claim::Template& t, const spec::Recipe& before,
                           const spec::Recipe& now) {
  for (std::uint64_t k = 0; k < t.count; ++k) {
    const std::string was = before.name(k);
    const std::string is = now.name(k);
    if (was != is)
      return other_jobs(fmt::format("'{}' is '{}' there", printable(was), printable(is)));
  }
  return {};
}

}  // namespace

Result<NewRecipes> compare_with_store(const claim::Reader& reader, const claim::Plan& plan,
                                      std::vector<claim::UserDatum> user_data) {
  NewRecipes found;
  found.user_data = std::move(user_data);
  std::size_t next = 0;
  Result<void> compared;
  claim::scan_templates(reader, [&](const claim::Template& t) {
    compared = [&]() -> Result<void> {
      if (next == plan.templates.size() || plan.templates[next].first != t.first ||
          plan.templates[next].count != t.count)
        return other_jobs(fmt::format("it differs from job {} on", raw(t.first)));
      const claim::Template& now = plan.templates[next++];
      if (plan.classes[now.job_class] != claim::read_class(reader, t.job_class) ||
          now.priority != t.priority)
        ++found.other_needs;
      if (now.recipe == t.recipe) return {};
      TORC_ASSIGN(const spec::Recipe before, spec::Recipe::decode(t.recipe));
      TORC_ASSIGN(const spec::Recipe after, spec::Recipe::decode(now.recipe));
      TORC_TRY(compare_names(t, before, after));
      found.changed.push_back({t.first, t.count, now.recipe});
      return {};
    }();
    return compared.ok();
  });
  TORC_TRY(std::move(compared));
  if (next != plan.templates.size())
    return other_jobs(
        fmt::format("it has more jobs, from job {} on", raw(plan.templates[next].first)));
  store::MemoryState wanted;
  TORC_TRY(claim::write_plan(wanted, plan));
  TORC_TRY(compare_shape(reader, wanted));
  std::set<std::string> names;
  for (const claim::UserDatum& d : found.user_data) names.insert(d.name);
  std::string gone;
  claim::scan_user_data(reader, [&](const claim::UserDatum& d) {
    if (d.is_declared && !names.contains(d.name)) gone = d.name;
    return gone.empty();
  });
  if (!gone.empty()) return other_jobs(fmt::format("user data '{}' is not in it", printable(gone)));
  return found;
}

}  // namespace torc::cli
