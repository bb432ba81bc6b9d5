// Random workflow files one after the other, applied to one store at random moments of its life:
// after each the store is a sound one, and what its jobs are is what a new store of that file would
// have, with what is still valid of the earlier ones. A result is valid as long as the command, the
// set of jobs that it waits for, and the results that it was made from are the same.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/claim/tables/change_record.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/undo.h"
#include "lib/spec/load/load.h"
#include "lib/workflow/change/difference.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

using claim::JobState;
using claim::WorkerEpoch;

std::uint64_t below(std::uint64_t n) {
  return *rc::gen::inRange<std::uint64_t>(0, n);
}
bool one_in(std::uint64_t n) {
  return below(n) == 0;
}

// --- files ---

struct Entry {
  int number = 0;
  std::uint64_t from = 1;
  std::uint64_t count = 1;
  bool is_sweep = false;
  int command = 0;
  int priority = 0;
  int cpus = 1;
  std::set<int> needs;  // entries, all jobs of each
  bool canceled_by_failure = false;
};
using File = std::vector<Entry>;

std::string name_of(const Entry& e, std::uint64_t i) {
  return e.is_sweep ? fmt::format("e{}_{}", e.number, i) : fmt::format("e{}", e.number);
}

Entry any_entry(int number, const File& before) {
  Entry e;
  e.number = number;
  e.is_sweep = one_in(2);
  if (e.is_sweep) {
    e.from = below(3);
    e.count = 2 + below(4);
  }
  e.command = static_cast<int>(below(2));
  e.priority = static_cast<int>(below(2));
  for (const Entry& b : before) {
    if (one_in(2)) e.needs.insert(b.number);
  }
  return e;
}

File any_file() {
  File file;
  const int entries = 1 + static_cast<int>(below(4));
  for (int n = 0; n < entries; ++n) file.push_back(any_entry(n, file));
  return file;
}

// Needs of entries that are there no more are none.
void mend_needs(File& file) {
  std::set<int> there;
  for (Entry& e : file) {
    std::erase_if(e.needs, [&](int n) { return !there.contains(n); });
    there.insert(e.number);
  }
}

File edited(File file) {
  for (std::uint64_t edits = 1 + below(3); edits > 0; --edits) {
    const std::uint64_t at = below(file.size());
    Entry& e = file[at];
    switch (below(8)) {
      case 0:
        e.command = static_cast<int>(below(3));
        break;
      case 1:
        e.priority = static_cast<int>(below(3));
        e.cpus = 1 + static_cast<int>(below(3));
        break;
      case 2:
      case 3:
        if (!e.is_sweep) break;
        e.from = below(4);
        e.count = 2 + below(5);
        break;
      case 4:
        if (file.size() > 1) file.erase(file.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 5: {
        int number = 0;
        for (const Entry& other : file) number = std::max(number, other.number + 1);
        if (one_in(2)) number = static_cast<int>(below(5));  // perhaps one that was there before
        bool known = false;
        for (const Entry& other : file) known = known || other.number == number;
        if (!known) {
          const File before(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(at));
          file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), any_entry(number, before));
        }
        break;
      }
      default: {
        e.needs.clear();
        for (std::uint64_t b = 0; b < at; ++b) {
          if (one_in(2)) e.needs.insert(file[b].number);
        }
        break;
      }
    }
  }
  mend_needs(file);
  return file;
}

std::string text_of(const File& file) {
  std::string text = "name: wf\njobs:\n";
  for (const Entry& e : file) {
    std::string needs;
    for (const int n : e.needs)
      needs += fmt::format("{}'^e{}(_.*)?$'", needs.empty() ? "" : ", ", n);
    text += fmt::format(
        "  - {{name: 'e{0}{1}', command: 'run{2} {3}', priority: {4}, num_cpus: {5}"
        "{6}{7}}}\n",
        e.number, e.is_sweep ? "_{i}" : "", e.command, e.is_sweep ? "{i}" : "", e.priority, e.cpus,
        e.is_sweep ? fmt::format(", parameters: {{i: '{}:{}'}}", e.from, e.from + e.count - 1) : "",
        needs.empty() ? "" : fmt::format(", depends_on_regexes: [{}]", needs));
  }
  return text;
}

struct Made {
  claim::Plan plan;
  std::vector<claim::UserDatum> data;
};
Made made_of(const File& file) {
  const spec::ReadFile none = [](const std::string&) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there are no files", ""};
  };
  const std::string text = text_of(file);
  spec::Loaded read = spec::load(std::string(text), "wf.yaml", none);
  RC_ASSERT(read.expansion.has_value());
  LoadedSpec loaded;
  loaded.workflow = std::move(read.workflow);
  loaded.expansion = std::move(read.expansion);
  return {make_plan(loaded, {"/here"}), user_data_of(*loaded.expansion)};
}

// --- what is expected ---

// How a job came to its end: by what, and from which ends of others.
struct Run {
  std::string command;
  std::map<std::string, std::uint64_t> from;  // number of the run of each that it waited for
  std::uint64_t number = 0;
  bool completed = false;
  auto operator<=>(const Run&) const = default;
};

struct Job {
  std::string command;
  std::vector<std::string> needs;
};
using Jobs = std::map<std::string, Job>;  // of a file

Jobs jobs_of(const File& file) {
  Jobs jobs;
  std::map<int, std::vector<std::string>> names;
  for (const Entry& e : file) {
    for (std::uint64_t i = e.from; i < e.from + e.count; ++i) {
      Job& job = jobs[name_of(e, i)];
      job.command =
          e.is_sweep ? fmt::format("run{} {}", e.command, i) : fmt::format("run{} ", e.command);
      for (const int n : e.needs)
        job.needs.insert(job.needs.end(), names[n].begin(), names[n].end());
    }
    for (std::uint64_t i = e.from; i < e.from + e.count; ++i)
      names[e.number].push_back(name_of(e, i));
  }
  return jobs;
}

class Life {
 public:
  explicit Life(const File& file)
      : jobs_(jobs_of(file)), store_(made_of(file).plan), worker_(store_.join()) {}

  // Takes some jobs, and ends some of those that it has. What was changed before may be taken back
  // or not, but never half.
  void go_on(bool to_the_end) {
    make_progress(to_the_end);
    if (one_in(3)) try_to_undo({});
  }

  void apply(const File& file) {
    const Made made = made_of(file);
    const auto found = difference(store_.tx, made.plan, made.data);
    if (!found) RC_FAIL(found.error().text());
    ++store_.tx.number;
    claim::Origin origin;
    origin.at = claim::kNoon;
    origin.state = kOfFile;
    claim::Reshape reshape = found->reshape;
    reshape.definition_of = definitions_in(store_.tx, found->env);
    for (const JobId id : found->retired) reshape.taken_back.push_back({id, 1});
    const auto before = entries();
    const std::uint64_t newest = claim::newest_change(store_.tx);
    claim::NotedTransaction noted(store_.tx);
    const auto done = claim::reshape(noted, std::move(reshape), part_of_template, origin);
    if (!done) RC_FAIL(done.error().text());
    claim::keep_change(store_.tx, noted,
                       {claim::kNoon, claim::kNoon, "she@here", "torc apply", "", ""});
    const bool is_kept = claim::newest_change(store_.tx) > newest;
    if (is_kept) number_at_change_ = number_;
    RC_ASSERT(is_kept == (entries() != before));
    if (is_kept && one_in(3)) try_to_undo(before);
    if (const auto sound = claim::verify_state(store_.tx); !sound) RC_FAIL(sound.error().text());
    jobs_ = jobs_of(file);
    end_what_was_revoked();
    forget_invalid();
    compare();
  }

  void check_done(const File& file) {
    for (int n = 0; n < 100; ++n) {
      go_on(true);
      if (n % 10 == 9) apply(file);
      const auto all = claim::read_workflow(store_.tx);
      RC_ASSERT(all.ok());
      const Made made = made_of(file);
      const auto found = difference(store_.tx, made.plan, made.data);
      RC_ASSERT(found.ok());
      if (all->of(JobState::ready) + all->of(JobState::running) + all->of(JobState::claimed) > 0)
        continue;
      retry_failed();
      if (!found->nothing()) apply(file);
      if (all->all_completed() && found->nothing()) break;
    }
    for (const auto& [name, job] : jobs_) RC_ASSERT(state(name) == JobState::completed);
  }

 private:
  using Entries = std::map<std::string, std::string>;

  // All but what is kept of changes, and the edition, which only grows.
  Entries entries() const {
    Entries out;
    for (const auto& [key, value] : store_.tx.entries) {
      if (!claim::is_in(claim::Table::change, key) && !claim::is_in(claim::Table::edition, key))
        out.emplace(key, value);
    }
    return out;
  }

  void make_progress(bool to_the_end) {
    claim_some(to_the_end ? 64 : 1 + below(4));
    auto held = std::exchange(live_, {});
    for (auto& [name, live] : held) {
      if (!to_the_end && one_in(3)) {
        if (one_in(2)) store_.start(worker_, live.token);
        live_.emplace(name, live);
        continue;
      }
      const bool completes = to_the_end || !one_in(5);
      RC_ASSERT(
          store_.finish(worker_, live.token, completes ? JobState::completed : JobState::failed)
              .ok());
      live.run.completed = completes;
      runs_[name] = live.run;
    }
  }

  // The store is as it was before the newest change; then that is there again.
  void try_to_undo(const Entries& before) {
    const auto now = store_.tx.entries;
    const std::uint64_t number = claim::newest_change(store_.tx);
    if (const auto kept = claim::read_change(store_.tx, number);
        number == 0 || !kept || !*kept || (*kept)->undone_at != WallTime{})
      return;
    const auto undone = claim::undo_change(store_.tx, number, claim::kNoon, "she@here");
    RC_ASSERT(undone.ok());
    if (undone->answer == claim::Undone::Answer::done) {
      // Of what has gone on since, verify_state() finds what is not among what was written.
      if (const auto sound = claim::verify_state(store_.tx); !before.empty() && !sound)
        RC_FAIL(sound.error().text());
      if (!before.empty()) RC_ASSERT(entries() == before);
      expect_runs_as_told();
    } else {
      // Right after it nothing stands against it, but that it ended a job at work.
      RC_ASSERT(before.empty() || store_.job(raw(undone->job)).revoked != claim::Revoked::no);
    }
    store_.tx.entries = now;
  }

  // What was granted since the newest change ran by what is there now, which was taken back.
  void expect_runs_as_told() {
    RecipeBook book;
    const auto look = [&](const std::string& name, const Run& run) {
      if (run.number <= number_at_change_) return;
      const auto id = find_job(book, store_.tx, name);
      RC_ASSERT(id.ok());
      RC_ASSERT(id->has_value());
      const auto page = book.find(store_.tx, **id);
      RC_ASSERT(page != nullptr);
      const std::string now =
          page->recipe.render(raw(**id) - raw(page->job_template.first)).command;
      if (now != run.command)
        RC_FAIL(name + " ran '" + run.command + "' and is told to '" + now + "'");
    };
    for (const auto& [name, run] : runs_) look(name, run);
    for (const auto& [name, live] : live_) look(name, live.run);
  }

  struct Live {
    claim::ClaimToken token;
    Run run;
  };

  void claim_some(std::uint64_t most) {
    for (const claim::Grant& grant : store_.claim(worker_, most)) {
      RecipeBook book;
      const auto page = book.find(store_.tx, grant.token.job);
      RC_ASSERT(page != nullptr);
      const auto job = page->recipe.render(raw(grant.token.job) - raw(page->job_template.first));
      const auto known = jobs_.find(job.name);
      if (known == jobs_.end()) RC_FAIL(job.name + " runs, and is not in the file");
      RC_ASSERT(known->second.command == job.command);
      Live live{grant.token, {job.command, {}, ++number_, false}};
      for (const std::string& need : known->second.needs) {
        const auto run = runs_.find(need);
        RC_ASSERT(run != runs_.end());
        RC_ASSERT(run->second.completed);
        live.run.from[need] = run->second.number;
      }
      runs_.erase(job.name);
      live_[job.name] = live;
    }
  }

  // Its worker is told, and says that it ended them.
  void end_what_was_revoked() {
    for (auto at = live_.begin(); at != live_.end();) {
      const claim::Job job = store_.job(raw(at->second.token.job));
      if (claim::is_live(job.state)) {
        ++at;
        continue;
      }
      RC_ASSERT(job.state == JobState::canceled);
      RC_ASSERT(store_.finish(worker_, at->second.token, JobState::failed).ok());
      at = live_.erase(at);
    }
  }

  // A failure of one that is not in the file, until what it was made of runs again.
  bool stays(const std::string& name, std::map<std::string, bool>& known) {
    return std::ranges::all_of(runs_.at(name).from, [&](const auto& from) {
      const auto& [need, number] = from;
      const auto upstream = runs_.find(need);
      if (upstream == runs_.end() || !upstream->second.completed || live_.contains(need) ||
          upstream->second.number != number)
        return false;
      return jobs_.contains(need) ? is_valid(need, known) : stays(need, known);
    });
  }

  bool is_valid(const std::string& name, std::map<std::string, bool>& known) {
    if (const auto at = known.find(name); at != known.end()) return at->second;
    const auto job = jobs_.find(name);
    const auto run = runs_.find(name);
    if (run == runs_.end()) return known[name] = false;
    if (job == jobs_.end()) return known[name] = run->second.completed || stays(name, known);
    bool valid = run->second.command == job->second.command &&
                 run->second.from.size() == job->second.needs.size();
    for (const std::string& need : job->second.needs) {
      const auto from = run->second.from.find(need);
      const auto upstream = runs_.find(need);
      valid = valid && from != run->second.from.end() && upstream != runs_.end() &&
              upstream->second.completed && from->second == upstream->second.number &&
              !live_.contains(need) && is_valid(need, known);
    }
    return known[name] = valid;
  }

  // What completed may be valid again; what failed is tried again.
  void forget_invalid() {
    valid_.clear();
    for (const auto& [name, job] : jobs_) (void)is_valid(name, valid_);
    for (const auto& [name, run] : runs_) (void)is_valid(name, valid_);
    for (const auto& [name, valid] : valid_) {
      const auto run = runs_.find(name);
      if (!valid && run != runs_.end() && !run->second.completed && !live_.contains(name))
        runs_.erase(run);
    }
  }

  JobState state(const std::string& name) {
    RecipeBook book;
    const auto id = find_job(book, store_.tx, name);
    if (!id || !*id) RC_FAIL("no job is named " + name);
    return store_.state(raw(**id));
  }

  void compare() {
    for (const auto& [name, job] : jobs_) {
      if (live_.contains(name)) continue;  // it goes on as it is
      const JobState now = state(name);
      if (valid_[name]) {
        if (now != (runs_[name].completed ? JobState::completed : JobState::failed))
          RC_FAIL(fmt::format("{} is {}, and ended", name, claim::to_string(now)));
        continue;
      }
      bool ready = true;
      for (const std::string& need : job.needs)
        ready = ready && valid_[need] && runs_[need].completed && !live_.contains(need);
      if (now != (ready ? JobState::ready : JobState::blocked))
        RC_FAIL(fmt::format("{} is {}, and waits{}", name, claim::to_string(now),
                            ready ? "" : " for others"));
    }
  }

  void retry_failed() {
    std::vector<claim::JobRange> failed;
    for (auto run = runs_.begin(); run != runs_.end();) {
      if (run->second.completed || !jobs_.contains(run->first)) {
        ++run;
        continue;
      }
      RecipeBook book;
      failed.push_back({**find_job(book, store_.tx, run->first), 1});
      run = runs_.erase(run);
    }
    std::ranges::sort(failed, {}, &claim::JobRange::first);
    ++store_.tx.number;
    RC_ASSERT(claim::retry_jobs(store_.tx, failed).ok());
    store_.check();
  }

  Jobs jobs_;
  std::map<std::string, Run> runs_;    // newest that ended
  std::map<std::string, bool> valid_;  // whether it counts
  std::map<std::string, Live> live_;
  std::uint64_t number_ = 0;
  std::uint64_t number_at_change_ = 0;  // of the last run that was granted before it
  claim::TestWorkflow store_;
  WorkerEpoch worker_;
};

void live_once() {
  File file = any_file();
  RC_LOG() << text_of(file);
  Life life(file);
  for (std::uint64_t n = 1 + below(5); n > 0; --n) {
    for (std::uint64_t steps = below(5); steps > 0; --steps) life.go_on(false);
    const File before = file;
    file = edited(file);
    RC_LOG() << "then " << text_of(file);
    life.apply(file);
    if (!one_in(4)) continue;
    RC_LOG() << "back and again\n";
    life.apply(before);
    life.apply(file);
  }
  life.apply(file);
  life.check_done(file);
}

// Some rules are broken by few of them: ten to a case.
RC_GTEST_PROP(Apply, a_store_is_what_a_new_one_would_be_with_what_is_still_valid, ()) {
  for (int lives = 0; lives < 10; ++lives) live_once();
}

}  // namespace
}  // namespace torc::workflow
