// torc resources: for each entry of the spec, what its jobs asked for and what they used.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/look/resources_apply.h"
#include "bin/commands/look/series.h"
#include "bin/commands/multiplier.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/job_view.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

struct ResourcesOptions {
  std::string store;
  std::string series;         // a job: how it went over time; empty: all jobs, summed up
  std::uint32_t attempt = 0;  // of it; 0: the newest
  bool json = false;
  ApplyOptions apply;
};

using claim::EndCause;
using nlohmann::ordered_json;
using std::chrono::microseconds;

constexpr std::size_t kUsesPage = 1000;
// What is suggested beyond the most that was used.
constexpr double kHeadroom = 1.25;
// Above this share of what was asked for a job is near its limit, below that one it wastes.
constexpr double kNear = 0.9;
constexpr double kIdle = 0.5;
// Below these a measured value tells nothing about waste.
constexpr ByteCount kSmallMemory = mebibytes(256);
constexpr microseconds kShort = std::chrono::seconds(10);

// Of the jobs of one entry, their newest attempts; of each alternative of what they need by itself.
struct Use {
  std::uint32_t alternative = 0;  // as people number them; 0: there are none
  std::shared_ptr<const workflow::RecipeBook::Page> page;
  claim::Requirement asked;
  std::uint64_t ended = 0;  // that ran and ended
  std::uint64_t out_of_memory = 0;
  std::uint64_t timed_out = 0;
  ByteCount most_memory = {};
  double memory_sum = 0;
  std::uint64_t measured = 0;  // of whose memory something is known
  std::uint64_t io_seen = 0;   // of whose reading and writing
  Traffic io = {};             // of these together
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  microseconds longest{};
  microseconds time{};      // of those that ran for kShort or longer …
  microseconds cpu_time{};  // … what they computed
  double most_cpus = 0;     // of one of those
};

void count(Use& use, const claim::Job& job) {
  const claim::Outcome& o = job.outcome;
  const bool ran = !claim::is_live(job.state) && o.cause != EndCause::none &&
                   o.cause != EndCause::not_started && !claim::is_loss(o.cause) &&
                   o.started_at.count() != 0;
  if (!ran) return;
  ++use.ended;
  if (o.cause == EndCause::out_of_memory) ++use.out_of_memory;
  if (o.cause == EndCause::timed_out) ++use.timed_out;
  use.most_memory = std::max(use.most_memory, o.max_rss);
  use.memory_sum += static_cast<double>(o.max_rss.value);
  if (o.max_rss.value > 0) ++use.measured;
  const Activity& a = o.activity;
  if (a.io) {
    ++use.io_seen;
    use.io = {use.io.read + a.io->read, use.io.written + a.io->written};
  }
  use.voluntary_switches += a.voluntary_switches;
  use.involuntary_switches += a.involuntary_switches;
  const microseconds time = std::max<microseconds>(o.ended_at - o.started_at, microseconds{0});
  use.longest = std::max(use.longest, time);
  if (time < kShort) return;
  use.time += time;
  use.cpu_time += o.cpu_time;
  use.most_cpus = std::max(
      use.most_cpus, static_cast<double>(o.cpu_time.count()) / static_cast<double>(time.count()));
}

bool declares_memory(const Use& use) {
  return use.asked.memory > spec::ResourceRequirements{}.memory;
}

double share(double used, double asked) {
  return asked > 0 ? used / asked : 0;
}

// Rounded up to what people write: 64 MiB steps, from 4 GiB on 512 MiB.
ByteCount suggested_memory(const Use& use) {
  double bytes = static_cast<double>(use.most_memory.value) * kHeadroom;
  // What was killed would have gone on growing.
  if (use.out_of_memory > 0)
    bytes = std::max(bytes, 2.0 * static_cast<double>(use.asked.memory.value));
  const ByteCount step =
      bytes < static_cast<double>(mebibytes(4096).value) ? mebibytes(64) : mebibytes(512);
  const double steps = std::max(1.0, std::ceil(bytes / static_cast<double>(step.value)));
  return {static_cast<std::uint64_t>(steps) * step.value};
}

std::chrono::seconds suggested_runtime(const Use& use) {
  double seconds = static_cast<double>(use.longest.count()) / 1e6 * kHeadroom;
  if (use.timed_out > 0)
    seconds = std::max(seconds, 2.0 * static_cast<double>(use.asked.runtime.count()));
  const double step = seconds < 3600 ? 60 : 900;
  return std::chrono::seconds(
      static_cast<std::int64_t>(std::max(1.0, std::ceil(seconds / step)) * step));
}

// Half a CPU of rounding at most; never more than was asked for, which jobs cannot have used.
std::uint32_t suggested_cpus(const Use& use) {
  if (use.time.count() == 0) return use.asked.cpus;
  const double most = std::ceil(use.most_cpus * 1.1);
  return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(most), 1,
                                   std::max(1U, use.asked.cpus));
}

struct Problem {
  std::string word;  // for scripts
  std::string text;
};

std::vector<Problem> problems_of(const Use& use) {
  std::vector<Problem> found;
  const double memory = share(static_cast<double>(use.most_memory.value),
                              static_cast<double>(use.asked.memory.value));
  if (use.out_of_memory > 0)
    found.push_back({"out_of_memory", fmt::format("{} out of memory", use.out_of_memory)});
  if (declares_memory(use) && use.measured > 0) {
    if (use.out_of_memory == 0 && memory > 1) {
      found.push_back({"above_memory", "above its memory"});
    } else if (use.out_of_memory == 0 && memory >= kNear) {
      found.push_back({"near_memory", "near its memory"});
    } else if (memory < kIdle && use.asked.memory >= kSmallMemory) {
      found.push_back({"wastes_memory", "wastes memory"});
    }
  }
  if (use.timed_out > 0) found.push_back({"timed_out", fmt::format("{} timed out", use.timed_out)});
  const double limit = static_cast<double>(use.asked.runtime.count()) * 1e6;
  const auto longest = static_cast<double>(use.longest.count());
  if (use.timed_out == 0 && limit > 0 && longest >= kNear * limit) {
    found.push_back(longest > limit ? Problem{"above_runtime", "above its runtime"}
                                    : Problem{"near_runtime", "near its runtime"});
  }
  const double cpus = share(static_cast<double>(use.cpu_time.count()),
                            static_cast<double>(use.time.count()) * use.asked.cpus);
  if (use.asked.cpus > 1 && use.time.count() > 0 && cpus < kIdle)
    found.push_back({"wastes_cpus", "wastes CPUs"});
  return found;
}

// "work_{i}"; of one job its name.
std::string entry_name(const Use& use) {
  const spec::Recipe& recipe = use.page->recipe;
  return use.page->job_template.count == 1 ? recipe.name(0) : recipe.entry_name();
}

class ResourcesView {
 public:
  ResourcesView(const App& app, const ResourcesOptions& options) : app_(app), options_(options) {}
  Result<void> show(const claim::Reader& reader);

 private:
  void add(const Use& use);
  void add_json(const Use& use);
  static Table new_page();

  const App& app_;
  const ResourcesOptions& options_;
  Table page_ = new_page();
  std::uint64_t shown_ = 0;
};

Table ResourcesView::new_page() {
  return Table({{"jobs", Align::left, Shorten::yes},
                {"ended", Align::right},
                {"memory", Align::right},
                {"most used", Align::right},
                {"suggested", Align::right},
                {"CPUs", Align::right, Shorten::no, 3},
                {"busy", Align::right, Shorten::no, 2},
                {"suggested", Align::right, Shorten::no, 3},
                {"runtime", Align::right, Shorten::no, 1},
                {"longest", Align::right},
                {"suggested", Align::right, Shorten::no, 1},
                {"read", Align::right, Shorten::no, 5},
                {"written", Align::right, Shorten::no, 4},
                {"what is wrong", Align::left, Shorten::yes}});
}

// Jobs come in the order of their numbers, and an entry's are in a row: one is kept at a time.
Result<void> ResourcesView::show(const claim::Reader& reader) {
  workflow::RecipeBook book;
  std::shared_ptr<const workflow::RecipeBook::Page> page;
  std::vector<Use> uses;  // by alternative
  const auto tell = [&] {
    for (const Use& use : uses) {
      if (use.ended > 0) add(use);
    }
  };
  if (options_.json) say(app_.out, "[");
  Result<void> sound;
  TORC_TRY(claim::scan_jobs(reader, std::nullopt, [&](JobId id, const claim::Job& job) {
    const bool same = page && raw(id) < raw(page->job_template.first) + page->job_template.count;
    if (!same) {
      tell();
      uses.clear();
      page = book.find(reader, id);
      if (!page) {
        sound = workflow::damaged_job(fmt::format("#{}", raw(id)));
        return false;
      }
      const auto of = claim::read_class(reader, page->job_template.job_class);
      for (std::uint32_t a = 0; a < of.alternatives(); ++a)
        uses.push_back({of.others.empty() ? 0 : a + 1, page, of.need_of(a)});
    }
    if (!uses.empty()) count(uses[job.alternative < uses.size() ? job.alternative : 0], job);
    return true;
  }));
  TORC_TRY(sound);
  tell();
  if (options_.json) {
    say(app_.out, "{}]\n", shown_ == 0 ? "" : "\n");
    return {};
  }
  if (!page_.empty()) say_table(app_, page_);
  if (shown_ == 0) say(app_.out, "no job has ended yet\n");
  return {};
}

void ResourcesView::add(const Use& use) {
  if (options_.json) return add_json(use);
  ++shown_;
  const double busy = share(static_cast<double>(use.cpu_time.count()),
                            static_cast<double>(use.time.count()) * use.asked.cpus);
  std::string wrong;
  for (const Problem& p : problems_of(use)) wrong += (wrong.empty() ? "" : ", ") + p.text;
  std::string name = printable(entry_name(use));
  if (use.alternative != 0) name += fmt::format(" (alternative {})", use.alternative);
  page_.add({std::move(name), std::to_string(use.ended),
             declares_memory(use) ? show_bytes(use.asked.memory) : "-",
             use.measured > 0 ? show_bytes(use.most_memory) : "-",
             use.measured > 0 ? show_bytes(suggested_memory(use)) : "-",
             std::to_string(use.asked.cpus),
             use.time.count() == 0 ? "-" : fmt::format("{:.0f} %", busy * 100),
             use.time.count() == 0 ? "-" : std::to_string(suggested_cpus(use)),
             use.asked.runtime.count() == 0 ? "-" : show_duration(use.asked.runtime),
             show_duration(use.longest), show_duration(suggested_runtime(use)),
             use.io_seen > 0 ? show_bytes(use.io.read) : "-",
             use.io_seen > 0 ? show_bytes(use.io.written) : "-", wrong});
  if (page_.rows() < kUsesPage) return;
  say_table(app_, page_);
  page_ = new_page();
}

void ResourcesView::add_json(const Use& use) {
  const bool measured = use.time.count() > 0;
  constexpr std::uint64_t kOne = 1;
  ordered_json row;
  row["first_job"] = use.page->recipe.name(0);
  row["jobs"] = use.page->job_template.count;
  row["ended_jobs"] = use.ended;
  row["out_of_memory_jobs"] = use.out_of_memory;
  row["timed_out_jobs"] = use.timed_out;
  row["memory_bytes"] = json_if(declares_memory(use), use.asked.memory.value);
  const bool memory = use.measured > 0;
  row["max_peak_memory_bytes"] = json_if(memory, use.most_memory.value);
  row["mean_peak_memory_bytes"] =
      json_if(memory, static_cast<std::uint64_t>(
                          use.memory_sum / static_cast<double>(std::max(use.measured, kOne))));
  row["suggested_memory_bytes"] = json_if(memory, suggested_memory(use).value);
  row["cpus"] = use.asked.cpus;
  row["busy_share"] =
      json_if(measured, share(static_cast<double>(use.cpu_time.count()),
                              static_cast<double>(use.time.count()) * use.asked.cpus));
  row["suggested_cpus"] = suggested_cpus(use);
  row["runtime_seconds"] = json_if(use.asked.runtime.count() > 0, use.asked.runtime.count());
  row["max_elapsed_seconds"] = json_seconds(use.longest);
  row["suggested_runtime_seconds"] = suggested_runtime(use).count();
  report::add_io(row, use.io_seen > 0 ? std::optional(use.io) : std::nullopt);
  row["voluntary_switches"] = use.voluntary_switches;
  row["involuntary_switches"] = use.involuntary_switches;
  row["alternative"] = json_or_null(use.alternative);
  row["problems"] = ordered_json::array();
  for (const Problem& p : problems_of(use)) row["problems"].push_back(p.word);
  say(app_.out, "{}\n  {}", shown_++ == 0 ? "" : ",", report::json_line(row));
}

Result<Exit> run(const App& app, const ResourcesOptions& options) {
  TORC_ASSIGN(const auto store, open_store(app, options.store));
  TORC_TRY(store->view(store::Freshness::latest, [&](const claim::Reader& reader) {
    return ResourcesView(app, options).show(reader);
  }));
  return Exit::ok;
}

}  // namespace

void add_resources(Command& c) {
  auto& o = c.options<ResourcesOptions>();
  c.about("Compare what jobs asked for with what they used");
  c.argument("STORE", o.store, "store");
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  const Flag series =
      c.option("--series", o.series, "one job, over time: memory, CPUs, bytes read and written")
          .value("NAME");
  c.option("--attempt", o.attempt, "of that job (default: the newest)").positive().needs(series);
  const Flag apply =
      c.option("--apply", o.apply.spec,
               "write what jobs have turned out to need into this workflow file (YAML), and say "
               "what changes and what it saves")
          .value("SPEC")
          .excludes(series);
  c.option("-o,--output", o.apply.output, "write a new file instead").value("FILE").needs(apply);
  c.flag("--dry-run", o.apply.dry_run, "say what would change and write nothing").needs(apply);
  c.flag("--no-lower", o.apply.no_lower, "raise only").needs(apply);
  const auto multiplier = [&](const char* name, double& value, const char* of) {
    c.option(name, value, parse_multiplier, std::string("times the most ") + of + " (1.2)")
        .value("X")
        .needs(apply);
  };
  multiplier("--memory-multiplier", o.apply.rules.memory, "memory that a job used");
  multiplier("--runtime-multiplier", o.apply.rules.runtime, "time that a job took");
  multiplier("--cpu-multiplier", o.apply.rules.cpus, "CPUs that a job kept busy");
  c.footer(
      "\nA job has a time series when the workflow has `resource_monitor: {granularity: "
      "time_series}`\nand it ran for 0.1 s or longer; it can be read while the job runs.");
  c.run([&o](const App& app) {
    if (!o.apply.spec.empty()) {
      o.apply.json = o.json;
      o.apply.rules.lowers = !o.apply.no_lower;
      return apply_resources(app, o.store, o.apply);
    }
    return o.series.empty() ? run(app, o)
                            : print_series(app, o.store, {o.series, o.attempt, o.json});
  });
}

}  // namespace torc::cli
