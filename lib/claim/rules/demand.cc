#include "lib/claim/rules/demand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "lib/claim/rules/offer.h"

namespace torc::claim {
namespace {

// What nobody knows the length of counts as this.
constexpr std::chrono::seconds kUnknownRuntime{60};
// What has no limit of time is reckoned with as so long.
constexpr std::chrono::seconds kNoLimit = std::chrono::hours(24 * 365);

Offer offer_of(const Place& place) {
  Offer offer;
  offer.total_cpus = offer.cpus = place.node.cpus;
  offer.total_gpus = offer.gpus = place.node.gpus;
  offer.total_memory = offer.memory = place.node.memory;
  offer.total_more = offer.more = place.node;
  offer.nodes = place.nodes;
  offer.scheduler = place.scheduler_name;
  offer.labels = place.labels;
  offer.any_binding = place.any_binding;
  if (place.has_limit) offer.remaining = place.left;
  offer.max_jobs = UINT64_MAX;
  return offer;
}

// What a class has of a kind of place, by one of its alternatives: node-seconds that a job takes.
struct Way {
  std::uint64_t slots = 0;  // beside each other; UINT64_MAX: as many as you like
  std::chrono::seconds runtime{0};
  std::chrono::seconds least{0};  // that must be left
  double use = 0;
};

std::chrono::seconds runtime_of(const Requirement& need) {
  const auto expected = expected_time(need);
  return expected.count() > 0 ? expected : kUnknownRuntime;
}

// How the jobs of a class fit places of this kind, whatever time is left there.
std::vector<Way> ways_of(const JobClass& job_class, Place place) {
  place.has_limit = false;
  const Offer offer = offer_of(place);
  const bool is_known = place.node.cpus != 0;
  std::vector<Way> ways;
  for (std::uint32_t a = 0; a < job_class.alternatives(); ++a) {
    const JobClass one = job_class.by(a);
    std::uint8_t lacks = mismatches_of(one, offer);
    // Where it is not known what nodes have, only what was said of them can speak against it.
    if (!is_known) lacks &= mismatch::kScheduler | mismatch::kLabel | mismatch::kNodes;
    if (lacks != 0) continue;
    Way way{slots_on(one, place.node, place.nodes), runtime_of(one.need), least_time(one.need), 0};
    if (way.slots != UINT64_MAX) {
      way.use = static_cast<double>(way.runtime.count()) * static_cast<double>(place.nodes) /
                static_cast<double>(std::max<std::uint64_t>(1, way.slots));
    }
    ways.push_back(way);
  }
  return ways;
}

// A place with what is taken of it, in node-seconds.
struct Bin {
  Place place;
  std::size_t kind = 0;
  double capacity = 0;
  double taken = 0;
  bool is_used = false;
};

Bin bin_of(Place place, std::size_t kind) {
  Bin bin;
  const std::chrono::seconds left = place.has_limit ? place.left : kNoLimit;
  bin.capacity = static_cast<double>(place.nodes) *
                 static_cast<double>(std::max<std::int64_t>(0, left.count()));
  bin.place = std::move(place);
  bin.kind = kind;
  return bin;
}

// Node-seconds that a job takes of it. One that may begin and does not end there takes what is
// left.
double use_of(const Way& way, const Bin& bin) {
  if (!bin.place.has_limit || way.runtime <= bin.place.left) return way.use;
  return way.use * static_cast<double>(bin.place.left.count()) /
         static_cast<double>(way.runtime.count());
}

// By which of the ways a job takes least of it; nullptr: there is too little time left for any.
const Way* way_into(const std::vector<Way>& ways, const Bin& bin) {
  const Way* best = nullptr;
  for (const Way& way : ways) {
    if (bin.place.has_limit && way.least > bin.place.left) continue;
    if (best == nullptr || use_of(way, bin) < use_of(*best, bin)) best = &way;
  }
  return best;
}

// Lays up to `jobs` of them into the bin; how many it takes.
std::uint64_t lay(const std::vector<Way>& ways, std::uint64_t jobs, Bin& bin) {
  const Way* way = jobs == 0 ? nullptr : way_into(ways, bin);
  if (way == nullptr) return 0;
  const double use = use_of(*way, bin);
  if (way->slots == UINT64_MAX) {
    bin.is_used = true;
    return jobs;
  }
  if (use <= 0) return 0;  // no time is left
  double room = std::floor((bin.capacity - bin.taken) / use + 1e-9);
  if (bin.place.has_limit) {
    const auto in_a_row = std::max<std::int64_t>(1, bin.place.left / way->runtime);
    room = std::min(room, static_cast<double>(way->slots) * static_cast<double>(in_a_row));
  }
  if (room < 1) return 0;
  const std::uint64_t taken =
      room >= static_cast<double>(jobs) ? jobs : static_cast<std::uint64_t>(room);
  bin.taken += use * static_cast<double>(taken);
  bin.is_used = true;
  return taken;
}

// The same of jobs that run there already, so that no time has to be left for them: in each slot
// one, until it ends or the place does.
std::uint64_t lay_held(const std::vector<Way>& ways, std::uint64_t jobs, Bin& bin) {
  if (jobs == 0 || ways.empty()) return 0;
  const Way& way = ways.front();
  const std::uint64_t taken = std::min(jobs, std::max<std::uint64_t>(1, way.slots));
  bin.taken = std::min(bin.capacity, bin.taken + way.use * static_cast<double>(taken));
  bin.is_used = true;
  return taken;
}

struct Account {
  std::uint32_t live = 0;
  std::uint32_t waiting = 0;
  std::uint32_t asked = 0;
  std::uint32_t early = 0;  // waiting or asked for, and jobs that are ready do not fill it
  double core_hours = 0;
  double node_hours = 0;
};

// Jobs that are left over, by class.
using Left = std::vector<std::uint64_t>;

class Packing {
 public:
  explicit Packing(const DemandInput& input) : input_(input), accounts_(input.schedulers.size()) {
    for (std::size_t i = 0; i < accounts_.size(); ++i) {
      if (i < input.core_hours.size()) accounts_[i].core_hours = input.core_hours[i];
      if (i < input.node_hours.size()) accounts_[i].node_hours = input.node_hours[i];
    }
    for (Place place : input.places) {
      if (place.scheduler > input.schedulers.size()) place.scheduler = 0;
      const std::size_t kind = kind_of(place);
      bins_.push_back(bin_of(std::move(place), kind));
    }
    std::ranges::stable_sort(bins_, {}, [](const Bin& bin) { return bin.place.waits; });
    there_ = bins_.size();
    for (const Bin& bin : bins_) {
      if (!is_of_scheduler(bin)) continue;
      Account& account = accounts_[bin.place.scheduler - 1];
      ++account.live;
      if (bin.place.waits) ++account.waiting;
    }
    for (std::uint32_t s = 1; s <= input.schedulers.size(); ++s) {
      Place place = place_of(s);
      const std::size_t kind = kind_of(place);
      offered_.push_back(bin_of(std::move(place), kind));
    }
    order_.resize(input.work.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, [&](std::size_t a, std::size_t b) {
      const Requirement& x = input.work[a].job_class.need;
      const Requirement& y = input.work[b].job_class.need;
      return x.nodes != y.nodes ? x.nodes > y.nodes : runtime_of(x) > runtime_of(y);
    });
    ways_.resize(input.work.size() * kinds_.size());
    for (std::size_t w = 0; w < input.work.size(); ++w) {
      for (std::size_t k = 0; k < kinds_.size(); ++k)
        ways_[w * kinds_.size() + k] = ways_of(input.work[w].job_class, kinds_[k]);
    }
  }

  Demand demand() {
    std::vector<Left> left(1);
    lay_anew(left);
    give_homes(left.back(), false);
    lay_anew(left);
    ask_while_filled(left, false);
    // What these do not fill waits for others.
    for (const Bin& bin : bins_) {
      const std::uint32_t s = bin.place.scheduler;
      if (!bin.place.waits || s == 0) continue;
      const bool is_filled = bin.is_used && bin.taken >= enough_of(s, bin);
      if (!is_filled) ++accounts_[s - 1].early;
    }
    left.resize(2);
    lay_anew(left);
    give_homes(left.back(), true);
    lay_anew(left);
    ask_while_filled(left, true);
    keep_least();
    Demand demand;
    demand.ask = asks();
    left.resize(3);
    lay_anew(left);
    demand.surplus = surplus();
    demand.stranded = stranded();
    return demand;
  }

 private:
  static bool is_of_scheduler(const Bin& bin) {
    return bin.place.allocation != 0 && bin.place.scheduler != 0;
  }

  // Of a further allocation.
  [[nodiscard]] Place place_of(std::uint32_t scheduler) const {
    const Scheduler& s = input_.schedulers[scheduler - 1];
    Place place;
    place.scheduler = scheduler;
    place.scheduler_name = s.name;
    place.waits = true;
    place.has_limit = s.walltime.count() > 0;
    place.left = scheduler <= input_.usable.size() ? input_.usable[scheduler - 1] : s.walltime;
    place.nodes = s.nodes;
    place.node = s.node;
    return place;
  }

  // Places of one kind differ in their time alone.
  std::size_t kind_of(const Place& place) {
    const auto alike = std::ranges::find_if(kinds_, [&](const Place& one) {
      return one.nodes == place.nodes && one.any_binding == place.any_binding &&
             one.scheduler_name == place.scheduler_name && one.labels == place.labels &&
             one.node == place.node;
    });
    const auto at = static_cast<std::size_t>(alike - kinds_.begin());
    if (alike == kinds_.end()) kinds_.push_back(place);
    return at;
  }

  [[nodiscard]] const std::vector<Way>& ways(std::size_t w, const Bin& bin) const {
    return ways_[w * kinds_.size() + bin.kind];
  }
  [[nodiscard]] bool may_run_in(std::size_t w, const Bin& bin) const {
    return way_into(ways(w, bin), bin) != nullptr;
  }

  // What runs stays where it is; only then is there room for others.
  void lay_all_held() {
    for (const std::size_t w : order_) {
      std::uint64_t jobs = input_.work[w].held;
      for (std::size_t b = 0; b < there_ && jobs > 0; ++b) {
        if (!bins_[b].place.waits) jobs -= lay_held(ways(w, bins_[b]), jobs, bins_[b]);
      }
      // What workers hold ready beyond that.
      for (std::size_t b = 0; b < there_ && jobs > 0; ++b) {
        if (!bins_[b].place.waits) jobs -= lay(ways(w, bins_[b]), jobs, bins_[b]);
      }
    }
  }

  // Lays jobs into all that is there and asked for: those that are held, and as many kinds as
  // `left` has of those that are ready, will be soon, and later. How many of each are left over.
  void lay_anew(std::vector<Left>& left) {
    for (Bin& bin : bins_) {
      bin.taken = 0;
      bin.is_used = false;
    }
    lay_all_held();
    for (std::size_t kind = 0; kind < left.size(); ++kind) {
      left[kind].assign(input_.work.size(), 0);
      for (const std::size_t w : order_) {
        const WorkLeft& work = input_.work[w];
        std::uint64_t& jobs = left[kind][w];
        jobs = kind == 0 ? work.ready : kind == 1 ? work.soon : work.later;
        for (std::size_t b = 0; b < bins_.size() && jobs > 0; ++b)
          jobs -= lay(ways(w, bins_[b]), jobs, bins_[b]);
      }
    }
  }

  [[nodiscard]] bool may_ask(std::uint32_t scheduler, bool early) const {
    const Scheduler& s = input_.schedulers[scheduler - 1];
    const Account& a = accounts_[scheduler - 1];
    if (!s.is_managed || !s.stopped.empty()) return false;
    if (a.live + a.asked >= s.terms.max || a.waiting + a.asked >= s.terms.max_queued) return false;
    if (s.serialize && a.waiting + a.asked >= 1) return false;
    if (early && a.early >= s.terms.backlog) return false;
    return is_affordable(s, a);
  }

  [[nodiscard]] static bool is_affordable(const Scheduler& s, const Account& a) {
    const double hours = static_cast<double>(s.walltime.count()) / 3600 * s.nodes;
    const double cores = hours * std::max<std::uint32_t>(1, s.node.cpus);
    const auto within = [](double budget, double had, double more) {
      return budget <= 0 || had + more <= budget;
    };
    return within(s.terms.budget_node_hours, a.node_hours, hours) &&
           within(s.terms.budget_core_hours, a.core_hours, cores);
  }

  void add(std::uint32_t scheduler, const Bin& bin, bool early) {
    Account& a = accounts_[scheduler - 1];
    const Scheduler& s = input_.schedulers[scheduler - 1];
    ++a.asked;
    if (early) ++a.early;
    const double hours = static_cast<double>(s.walltime.count()) / 3600 * s.nodes;
    a.node_hours += hours;
    a.core_hours += hours * std::max<std::uint32_t>(1, s.node.cpus);
    bins_.push_back(bin);
  }

  // One for each class that is left over and fits nowhere.
  void give_homes(const Left& left, bool early) {
    for (const std::size_t w : order_) {
      const auto fits = [&](const Bin& bin) { return may_run_in(w, bin); };
      if (left[w] == 0 || std::ranges::any_of(bins_, fits)) continue;
      for (std::uint32_t s = 1; s <= offered_.size(); ++s) {
        if (!fits(offered_[s - 1]) || !may_ask(s, early)) continue;
        add(s, offered_[s - 1], early);
        break;
      }
    }
  }

  // More, as long as what is left over fills each.
  void ask_while_filled(std::vector<Left>& left, bool early) {
    for (std::uint32_t s = 1; s <= offered_.size(); ++s) {
      while (may_ask(s, early)) {
        std::optional<Bin> bin = filled(s, left);
        if (!bin) break;
        add(s, *bin, early);
      }
    }
  }

  // A further allocation with what is left over in it, if that is enough; what it takes is not left
  // any more.
  [[nodiscard]] std::optional<Bin> filled(std::uint32_t scheduler, std::vector<Left>& left) const {
    Bin bin = offered_[scheduler - 1];
    std::vector<std::pair<std::uint64_t*, std::uint64_t>> laid;
    for (Left& kind : left) {
      for (const std::size_t w : order_) {
        const std::uint64_t jobs = lay(ways(w, bin), kind[w], bin);
        if (jobs > 0) laid.emplace_back(&kind[w], jobs);
      }
    }
    if (!bin.is_used || bin.taken < enough_of(scheduler, bin)) return std::nullopt;
    for (const auto& [of, jobs] : laid) *of -= jobs;
    return bin;
  }

  [[nodiscard]] double enough_of(std::uint32_t scheduler, const Bin& bin) const {
    return bin.capacity * input_.schedulers[scheduler - 1].terms.min_utilization / 1000.0;
  }

  [[nodiscard]] bool has_any_work(const Bin& bin) const {
    for (std::size_t w = 0; w < input_.work.size(); ++w) {
      if (input_.work[w].all() > 0 && may_run_in(w, bin)) return true;
    }
    return false;
  }

  // Of schedulers that are to have some allocations as long as there is anything for them.
  void keep_least() {
    for (std::uint32_t s = 1; s <= offered_.size(); ++s) {
      const std::uint32_t least = input_.schedulers[s - 1].terms.min;
      const Account& a = accounts_[s - 1];
      if (a.live + a.asked >= least || !has_any_work(offered_[s - 1])) continue;
      while (a.live + a.asked < least && may_ask(s, false)) add(s, offered_[s - 1], false);
    }
  }

  // In the order in which they were found to be needed: so they are laid into again.
  [[nodiscard]] std::vector<Ask> asks() const {
    std::vector<Ask> all;
    for (std::size_t b = there_; b < bins_.size(); ++b) {
      const std::uint32_t s = bins_[b].place.scheduler;
      if (all.empty() || all.back().scheduler != s) all.push_back({s, 0, why_for(s)});
      ++all.back().allocations;
    }
    return all;
  }
  [[nodiscard]] std::string why_for(std::uint32_t scheduler) const {
    std::uint64_t jobs = 0;
    for (std::size_t w = 0; w < input_.work.size(); ++w) {
      if (may_run_in(w, offered_[scheduler - 1]))
        jobs += input_.work[w].ready + input_.work[w].soon;
    }
    return fmt::format("{} {} for it", jobs, jobs == 1 ? "job waits" : "jobs wait");
  }

  // What waits and got nothing; the newest ones first, where some are kept.
  [[nodiscard]] std::vector<std::uint32_t> surplus() const {
    std::vector<std::uint32_t> numbers;
    std::vector<std::uint32_t> left;
    for (const Account& account : accounts_) left.push_back(account.live);
    for (std::size_t b = there_; b-- > 0;) {
      const Bin& bin = bins_[b];
      if (!is_of_scheduler(bin) || !bin.place.waits || bin.is_used) continue;
      const std::uint32_t s = bin.place.scheduler - 1;
      const std::uint32_t least = has_any_work(bin) ? input_.schedulers[s].terms.min : 0;
      if (left[s] <= least || (bin.place.is_asked_for && has_any_work(bin))) continue;
      --left[s];
      numbers.push_back(bin.place.allocation);
    }
    std::ranges::sort(numbers);
    return numbers;
  }

  [[nodiscard]] std::vector<Stranded> stranded() const {
    std::vector<Stranded> found;
    for (std::size_t w = 0; w < input_.work.size(); ++w) {
      const auto fits = [&](const Bin& bin) { return may_run_in(w, bin); };
      if (input_.work[w].ready == 0 || std::ranges::any_of(bins_, fits)) continue;
      if (std::ranges::none_of(offered_, fits)) found.push_back({static_cast<std::uint32_t>(w)});
    }
    return found;
  }

  const DemandInput& input_;
  std::vector<Account> accounts_;
  std::vector<Bin> bins_;     // what is there, then what is asked for
  std::size_t there_ = 0;     // how many of them are there
  std::vector<Bin> offered_;  // by scheduler: a further allocation, empty
  std::vector<Place> kinds_;
  std::vector<std::vector<Way>> ways_;  // by class and kind
  std::vector<std::size_t> order_;      // of classes: the widest first, then the longest
};

}  // namespace

std::uint64_t slots_on(const JobClass& job_class, const Resources& node, std::uint32_t nodes) {
  const std::uint32_t of_job = std::max<std::uint32_t>(1, job_class.need.nodes);
  if (of_job > 1) return nodes / of_job;
  if (node.cpus == 0) return nodes;
  Place place;
  place.node = node;
  place.nodes = nodes;
  Offer offer = offer_of(place);
  offer.any_binding = true;
  std::uint64_t most = 0;
  for (std::uint32_t a = 0; a < job_class.alternatives(); ++a) {
    const std::uint64_t fit = how_many_fit(job_class.by(a), free_capacity(offer), offer);
    most = std::max(most, fit);
  }
  most = std::max<std::uint64_t>(most, 1);  // it fits: of pieces nothing more is known here
  return most > UINT64_MAX / std::max<std::uint32_t>(1, nodes) ? UINT64_MAX : most * nodes;
}

Demand demand_of(const DemandInput& input) {
  if (!input.is_over) return Packing(input).demand();
  DemandInput nothing = input;
  nothing.work.clear();
  return Packing(nothing).demand();
}

}  // namespace torc::claim
