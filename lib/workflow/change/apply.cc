#include "lib/workflow/change/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/spawn_again.h"
#include "lib/claim/transactions/user_data.h"
#include "lib/workflow/change/addition.h"

namespace torc::workflow {
namespace {

constexpr int kTries = 5;

class Application {
 public:
  Application(const Context& context, store::Store& store, const LoadedSpec& loaded,
              const ApplyTerms& terms)
      : context_(context), store_(store), loaded_(loaded), terms_(terms) {}

  Result<Applied> run(const MakeChange& change) {
    for (int tries = 1;; ++tries) {
      applied_ = {};
      TORC_TRY(find());
      if (applied_.nothing()) return std::move(applied_);
      bool changed_meanwhile = false;
      nothing_changed_ = false;
      const auto done = change([&](store::Transaction& tx) -> Result<void> {
        const auto unchanged = check_unchanged(tx, applied_.difference);
        changed_meanwhile = !unchanged.ok();
        TORC_TRY(unchanged);
        return make(tx);
      });
      if (!done && nothing_changed_) {
        applied_.difference.reshape.taken_back.clear();
        applied_.had_behind = false;
        return std::move(applied_);
      }
      if (done) {
        applied_.had_behind = false;
        return std::move(applied_);
      }
      if (!changed_meanwhile || tries == kTries) return done.error();
    }
  }

 private:
  Result<void> find() {
    WorkflowSettings settings;
    TORC_TRY(
        store_.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
          TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
          TORC_ASSIGN(settings, decode_workflow_settings(workflow.settings));
          applied_.had_behind = workflow.behind > 0;
          if (auto spared = find_spared(reader); !spared) return spared;
          TORC_ASSIGN(applied_.difference,
                      difference(reader, make_plan(loaded_, settings.directory, settings.sums),
                                 user_data_of(*loaded_.expansion), sparing_, former_names()));
          return check_environment(reader);
        }));
    if (terms_.admit) TORC_TRY(terms_.admit(applied_.difference));
    Path directory = terms_.directory;
    if (directory.empty()) {
      TORC_ASSIGN(directory, find_working_directory(settings.directory, store_.directory()));
    }
    StaleSearch search(store_, std::move(directory), &applied_.difference.recipes,
                       contents_compared(terms_.checksum, settings), sparing_);
    TORC_ASSIGN(applied_.stale, search.run());
    applied_.spared = search.spared();
    TORC_TRY(refuse_missing_inputs(search));
    TORC_ASSIGN(applied_.difference.reshape.taken_back,
                search.unchanged(applied_.difference.retired));
    return {};
  }

  [[nodiscard]] Result<void> check_environment(const claim::Reader& reader) const {
    const std::uint64_t workers = claim::State(reader).tally().live_workers;
    const bool has_other_actions = !applied_.difference.actions.empty();
    if ((!applied_.difference.has_other_environment && !has_other_actions) || workers == 0)
      return {};
    return Error{ErrorKind::busy,
                 fmt::format("{} changed, and {} at work would go on with what was before",
                             has_other_actions ? "actions" : "the environment of all jobs",
                             plural(workers, "worker")),
                 "wait until they have left, or end them, then try again; nothing was changed"};
  }

  [[nodiscard]] FormerNames former_names() const {
    FormerNames all;
    const auto& entries = loaded_.expansion->entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!entries[i].former_names.empty()) all.emplace(i, entries[i].former_names);
    }
    return all;
  }

  Result<void> find_spared(const claim::Reader& reader) {
    sparing_ = {};
    sparing_.triggers = terms_.triggers.value_or(loaded_.workflow->rerun_triggers);
    sparing_.all = terms_.spares_all;
    sparing_.completed = terms_.spares_completed;
    if (!terms_.spared) return {};
    TORC_ASSIGN(sparing_.jobs, terms_.spared(reader));
    return {};
  }

  // What would run again without them would only lose its result.
  Result<void> refuse_missing_inputs(StaleSearch& search) {
    if (applied_.stale.empty()) return {};
    constexpr std::size_t kShown = 10;
    std::vector<claim::JobRange> stale;
    for (const StaleJob& s : applied_.stale) claim::add_to(stale, raw(s.id));
    std::vector<claim::JobRange> all;
    TORC_TRY(
        store_.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
          const auto found = claim::reach_of_reset(reader, stale);
          if (!found) return found.error();
          all = found->again();
          return {};
        }));
    TORC_ASSIGN(const auto missing, search.missing_inputs(all, stale, kShown));
    if (missing.empty()) return {};
    std::string text;
    for (const MissingInput& m : missing) {
      text += fmt::format("{}'{}' of job '{}'", text.empty() ? "" : ", ", printable(m.path),
                          printable(m.job));
    }
    return Error{
        ErrorKind::invalid,
        fmt::format("input files are not there, and no job makes them: {}{}", text,
                    missing.size() == kShown ? ", …" : ""),
        "put them back, or keep the results: `torc apply FILE --accept NAME`; nothing was changed"};
  }

  static std::uint64_t common(const claim::JobRange& a, const claim::JobRange& b) {
    const std::uint64_t from = std::max(raw(a.first), raw(b.first));
    const std::uint64_t to = std::min(raw(a.first) + a.count, raw(b.first) + b.count);
    return from < to ? to - from : 0;
  }

  // Also what has ended since the difference was found did so by what was said before.
  void note_what_ended(const claim::Reader& reader, claim::Reshape& reshape) const {
    claim::State state(reader);
    for (const claim::JobRange& range : applied_.difference.outdated) {
      const std::uint64_t end = raw(range.first) + range.count;
      for (auto at = state.next_record(raw(range.first)); at && *at < end;
           at = state.next_record(*at + 1)) {
        const auto job = state.open_record(*at);
        const auto ended = job ? end_of_job(reader, JobId{*at}, *job) : std::nullopt;
        if (ended && !sparing_.has(JobId{*at}, *ended)) claim::add_to(reshape.stale, *at);
      }
    }
  }

  // The transaction.
  Result<void> make(store::Transaction& tx) {
    applied_.done = {};
    applied_.running = 0;
    applied_.again.clear();
    applied_.withdrawn.clear();
    TORC_TRY(check_environment(tx));  // one may have come since
    TORC_ASSIGN(std::vector<StaleJob> stale, still_stale(tx, applied_.stale));
    if (!terms_.restarts_running) {
      std::erase_if(stale, [&](const StaleJob& s) {
        const auto job = claim::read_job(tx, s.id);
        return job && claim::is_live(job->state);
      });
    }
    std::erase_if(stale, [&](const StaleJob& s) {
      const auto job = claim::read_job(tx, s.id);
      return s.was_at_work && job && claim::is_over(job->state) && sparing_.has(s.id, job->state);
    });
    applied_.stale = std::move(stale);
    const Difference& difference = applied_.difference;
    claim::Reshape reshape = difference.reshape;
    for (const StaleJob& s : applied_.stale) reshape.stale.push_back({s.id, 1});
    if (terms_.restarts_running) {
      for (const claim::JobRange& r : difference.running) {
        const auto job = claim::read_job(tx, r.first);
        if (job && claim::is_live(job->state)) reshape.stale.push_back(r);
      }
    }
    reshape.definition_of = definitions_in(tx, difference.env);
    reshape.keeps_results = !difference.has_other_environment;
    note_what_ended(tx, reshape);
    claim::Origin origin;
    origin.at = context_.clock.wall_now();
    origin.by = who_asks(context_);
    origin.state = kOfFile;
    for (const claim::JobRange& range : difference.adopted)
      TORC_TRY(claim::change_origin(tx, range, origin));
    TORC_ASSIGN(applied_.done,
                claim::reshape(tx, std::move(reshape), part_of_template, std::move(origin)));
    for (const claim::JobRange& kept : applied_.done.kept) {
      for (const claim::JobRange& old : difference.outdated) applied_.running += common(kept, old);
    }
    const bool is_behind_otherwise =
        claim::note_behind(tx, applied_.done.kept, difference.outdated);
    std::uint64_t renewed = 0;
    for (const SparedJob& s : applied_.spared)
      renewed += claim::renew_signature(tx, s.id, s.claim, s.now) ? 1U : 0U;
    TORC_TRY(claim::update_user_data(tx, difference.user_data));
    TORC_TRY(claim::replace_terms(
        tx, {difference.settings, difference.max_failures, difference.budget, difference.schedulers,
             difference.sort, difference.pending_failed, difference.actions}));
    // Results that were looked at, and that something else speaks against.
    nothing_changed_ = difference.nothing() && applied_.stale.empty() && renewed == 0 &&
                       applied_.done.again.total() == 0 && applied_.done.taken_back == 0 &&
                       !is_behind_otherwise;
    if (nothing_changed_) return Error{ErrorKind::busy, "nothing is to be changed", ""};
    if (terms_.then) TORC_TRY(terms_.then(tx));
    RecipeBook book;
    for (const JobId id : applied_.done.again.first)
      applied_.again.push_back(job_name(book, tx, id));
    for (const JobId id : applied_.done.again.first_withdrawn)
      applied_.withdrawn.push_back(job_name(book, tx, id));
    return {};
  }

  const Context& context_;
  store::Store& store_;
  const LoadedSpec& loaded_;
  const ApplyTerms& terms_;
  Sparing sparing_;
  bool nothing_changed_ = false;
  Applied applied_;
};

}  // namespace

std::uint64_t Applied::accepted() const {
  return static_cast<std::uint64_t>(std::ranges::count(spared, true, &SparedJob::was_stale));
}

std::uint64_t Applied::redone() const {
  return done.again.lost_results();
}

Result<Applied> apply(const Context& context, store::Store& store, const LoadedSpec& loaded,
                      const ApplyTerms& terms, const MakeChange& change) {
  return Application(context, store, loaded, terms).run(change);
}

}  // namespace torc::workflow
