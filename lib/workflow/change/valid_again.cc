#include "lib/workflow/change/valid_again.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/retired_record.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/reshape.h"
#include "lib/workflow/change/redefinition.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

// Jobs as the file has them, by the numbers of the store.
class JobsOfFile {
 public:
  JobsOfFile(const claim::Plan& plan, const JobMatching& matching) : plan_(plan) {
    for (std::size_t i = 0; i < plan.templates.size(); ++i) {
      for (const Segment& s : matching.entries[i]) places_.push_back({i, s});
    }
    std::ranges::sort(places_, {}, [](const Place& p) { return p.segment.there; });
  }

  // nullopt: it has not. Quick where asked in the order of the numbers.
  Result<std::optional<spec::RenderedJob>> job(JobId id) {
    using Answer = std::optional<spec::RenderedJob>;
    auto at = std::ranges::upper_bound(places_, raw(id), {},
                                       [](const Place& p) { return p.segment.there; });
    if (at == places_.begin()) return Answer();
    const Place& place = *--at;
    const std::uint64_t offset = raw(id) - place.segment.there;
    if (offset >= place.segment.count) return Answer();
    if (!recipe_ || recipe_->first != place.entry) {
      TORC_ASSIGN(spec::Recipe recipe, spec::Recipe::decode(plan_.templates[place.entry].recipe));
      recipe_.emplace(place.entry, std::move(recipe));
    }
    return Answer(recipe_->second.render(place.segment.from + offset));
  }

 private:
  struct Place {
    std::size_t entry = 0;
    Segment segment;
  };

  const claim::Plan& plan_;
  std::vector<Place> places_;
  std::optional<std::pair<std::size_t, spec::Recipe>> recipe_;  // of the entry asked for last
};

std::vector<JobId> retired_jobs(const claim::Reader& reader, claim::State& state) {
  std::vector<JobId> all;
  reader.scan_prefix(claim::Key(claim::Table::retired), [&](const store::Entry& e) {
    const auto id = claim::id_in(claim::Table::retired, e.key);
    if (id) all.push_back(JobId{*id});
    if (!id) state.damaged(e.key);
    return id.has_value();
  });
  return all;
}

}  // namespace

Result<std::vector<JobId>> valid_again(const claim::Reader& reader, const claim::Plan& plan,
                                       const JobMatching& matching, const spec::Environment& env) {
  std::vector<JobId> valid;
  JobsOfFile file(plan, matching);
  claim::State state(reader);
  RecipeBook book;
  for (const JobId id : retired_jobs(reader, state)) {
    TORC_ASSIGN(const auto retired, claim::read_retired(reader, id));
    const auto job = state.job(raw(id));
    if (!retired || !job) continue;
    if (!claim::has(job->state, claim::trait::kWaits) && !claim::is_removed(*job)) continue;
    if (job->attempt != retired->job.attempt || job->claim != retired->job.claim) continue;
    TORC_ASSIGN(auto now, file.job(id));
    // What one of them spawned is what it was.
    if (!now && claim::is_withdrawn(*job) &&
        std::ranges::binary_search(valid, job->outcome.because)) {
      const auto page = book.find(reader, id);
      if (page) now = page->recipe.render(raw(id) - raw(page->job_template.first));
    }
    if (now && definition_hash(*now, env) == retired->definition) valid.push_back(id);
  }
  TORC_TRY(state.sound());
  return valid;
}

}  // namespace torc::workflow
