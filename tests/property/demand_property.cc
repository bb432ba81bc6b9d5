// How many allocations are asked for, against what must hold whatever is there and whatever waits.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "lib/claim/rules/demand.h"
#include "lib/claim/rules/offer.h"

namespace torc::claim {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

template <class T>
T one_of(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}
std::uint32_t up_to(std::uint32_t most) {
  return *rc::gen::inRange<std::uint32_t>(0, most + 1);
}

Resources node_of(std::uint32_t cpus) {
  Resources node = no_resources();
  node.cpus = cpus;
  node.memory = mebibytes(cpus == 0 ? 0 : 1 << 20);
  return node;
}

Scheduler some_scheduler(std::uint32_t number) {
  Scheduler s;
  s.name = "s" + std::to_string(number);
  s.serialize = up_to(4) == 0;
  s.nodes = 1 + up_to(2);
  s.walltime = one_of<seconds>({0s, 20min, 1h, 4h, 24h});
  s.node = node_of(one_of<std::uint32_t>({0, 1, 4, 36}));
  s.is_managed = up_to(5) != 0;
  if (up_to(7) == 0) s.stopped = "bad account";
  s.terms.min = one_of<std::uint32_t>({0, 0, 0, 2});
  s.terms.max = up_to(12);
  s.terms.max_queued = up_to(8);
  s.terms.backlog = up_to(3);
  s.terms.min_utilization = one_of<std::uint32_t>({0, 500, 500, 900, 1000});
  if (up_to(3) == 0) s.terms.budget_node_hours = up_to(60);
  if (up_to(3) == 0) s.terms.budget_core_hours = up_to(600);
  return s;
}

WorkLeft some_work() {
  WorkLeft work;
  Requirement& need = work.job_class.need;
  need.cpus = one_of<std::uint32_t>({1, 1, 2, 4, 20, 36});
  need.memory = mebibytes(1);
  need.nodes = one_of<std::uint32_t>({1, 1, 1, 2, 3});
  need.runtime = one_of<seconds>({0s, 10s, 5min, 19min, 50min, 3h, 20h});
  if (up_to(4) == 0) need.min_time = 10min;
  work.job_class.scheduler = one_of<std::string>({"", "", "s1", "s2"});
  work.ready = up_to(1) == 0 ? 0 : up_to(60);
  work.held = up_to(2) == 0 ? up_to(20) : 0;
  work.soon = up_to(2) == 0 ? up_to(60) : 0;
  work.later = up_to(2) == 0 ? up_to(60) : 0;
  return work;
}

Place place_in(const std::vector<Scheduler>& schedulers, std::uint32_t number, std::uint32_t of) {
  const Scheduler& s = schedulers[of - 1];
  Place place;
  place.allocation = number;
  place.scheduler = of;
  place.scheduler_name = s.name;
  place.waits = true;
  place.has_limit = s.walltime.count() > 0;
  place.left = s.walltime;
  place.nodes = s.nodes;
  place.node = s.node;
  return place;
}

DemandInput some_input() {
  DemandInput in;
  const std::uint32_t schedulers = up_to(3);
  for (std::uint32_t n = 1; n <= schedulers; ++n) in.schedulers.push_back(some_scheduler(n));
  const std::uint32_t classes = up_to(6);
  for (std::uint32_t n = 0; n < classes; ++n) in.work.push_back(some_work());
  const std::uint32_t places = schedulers == 0 ? 0 : up_to(6);
  for (std::uint32_t n = 1; n <= places; ++n) {
    Place place = place_in(in.schedulers, n, 1 + up_to(schedulers - 1));
    place.waits = up_to(1) == 0;
    if (!place.waits && place.has_limit)
      place.left = seconds(*rc::gen::inRange<std::int64_t>(0, place.left.count() + 1));
    in.places.push_back(place);
  }
  if (up_to(3) == 0) {
    Place other;  // of nobody's allocation
    other.node = node_of(4);
    other.has_limit = true;
    other.left = 1h;
    other.any_binding = up_to(1) == 0;
    in.places.push_back(other);
  }
  in.node_hours.assign(schedulers, 0);
  in.core_hours.assign(schedulers, 0);
  return in;
}

bool fits(const JobClass& job_class, const Place& place) {
  Offer offer;
  offer.total_cpus = place.node.cpus;
  offer.total_memory = place.node.memory;
  offer.total_more = place.node;
  offer.nodes = place.nodes;
  offer.scheduler = place.scheduler_name;
  offer.labels = place.labels;
  offer.any_binding = place.any_binding;
  offer.ignore_resources = place.node.cpus == 0;
  if (place.has_limit) offer.remaining = place.left;
  return could_fit(job_class, offer);
}
seconds runtime_of(const JobClass& c) {
  return expected_time(c.need).count() > 0 ? expected_time(c.need) : seconds(60);
}

struct Counts {
  std::uint32_t live = 0;
  std::uint32_t waiting = 0;
  std::uint32_t asked = 0;
};
std::vector<Counts> counts_of(const DemandInput& in, const Demand& demand) {
  std::vector<Counts> counts(in.schedulers.size());
  for (const Place& place : in.places) {
    if (place.allocation == 0) continue;
    ++counts[place.scheduler - 1].live;
    if (place.waits) ++counts[place.scheduler - 1].waiting;
  }
  for (const Ask& ask : demand.ask) counts[ask.scheduler - 1].asked += ask.allocations;
  return counts;
}

bool is_surplus(const Demand& demand, const Place& place) {
  return place.allocation != 0 &&
         std::ranges::find(demand.surplus, place.allocation) != demand.surplus.end();
}

// As if what was asked for waited, and what is surplus was gone.
DemandInput after(DemandInput in, const Demand& demand) {
  std::uint32_t number = 1;
  for (const Place& place : in.places) number = std::max(number, place.allocation + 1);
  std::erase_if(in.places, [&](const Place& place) { return is_surplus(demand, place); });
  for (const Ask& ask : demand.ask) {
    const Scheduler& s = in.schedulers[ask.scheduler - 1];
    for (std::uint32_t n = 0; n < ask.allocations; ++n) {
      in.places.push_back(place_in(in.schedulers, number++, ask.scheduler));
      const double hours = static_cast<double>(s.walltime.count()) / 3600 * s.nodes;
      in.node_hours[ask.scheduler - 1] += hours;
      in.core_hours[ask.scheduler - 1] += hours * std::max(1U, s.node.cpus);
    }
  }
  return in;
}

std::string told(const DemandInput& in, const Demand& demand) {
  std::ostringstream out;
  for (const Scheduler& s : in.schedulers) {
    out << s.name << ": " << s.nodes << " x " << s.node.cpus << " CPUs, " << s.walltime.count()
        << " s, min " << s.terms.min << " max " << s.terms.max << " queued " << s.terms.max_queued
        << " backlog " << s.terms.backlog << " fill " << s.terms.min_utilization
        << (s.serialize ? " serialized" : "") << (s.is_managed ? "" : " unmanaged") << s.stopped
        << " budget " << s.terms.budget_core_hours << '/' << s.terms.budget_node_hours << '\n';
  }
  for (const WorkLeft& w : in.work) {
    out << "work of " << w.job_class.need.cpus << " CPUs, " << w.job_class.need.nodes << " nodes, "
        << runtime_of(w.job_class).count() << " s, least " << w.job_class.need.min_time.count()
        << " '" << w.job_class.scheduler << "': " << w.ready << " ready " << w.held << " held "
        << w.soon << " soon " << w.later << " later\n";
  }
  for (const Place& p : in.places) {
    out << "place " << p.allocation << " of " << p.scheduler_name
        << (p.waits ? " waits " : " runs ") << p.left.count() << " s"
        << (p.has_limit ? "" : " no limit") << '\n';
  }
  for (const Ask& ask : demand.ask)
    out << "asks " << ask.allocations << " of s" << ask.scheduler << '\n';
  for (const std::uint32_t number : demand.surplus) out << "surplus " << number << '\n';
  return out.str();
}

RC_GTEST_PROP(Demand, keeps_to_the_terms_of_each_scheduler, ()) {
  const DemandInput in = some_input();
  const Demand demand = demand_of(in);
  const auto counts = counts_of(in, demand);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Scheduler& s = in.schedulers[i];
    const Counts& c = counts[i];
    if (c.asked == 0) continue;
    RC_ASSERT(s.is_managed);
    RC_ASSERT(s.stopped.empty());
    RC_ASSERT(c.live + c.asked <= s.terms.max);
    RC_ASSERT(c.waiting + c.asked <= s.terms.max_queued);
    RC_ASSERT(!s.serialize || c.waiting + c.asked <= 1);
    const double hours = static_cast<double>(s.walltime.count()) / 3600 * s.nodes * c.asked;
    RC_ASSERT(s.terms.budget_node_hours <= 0 || hours <= s.terms.budget_node_hours + 1e-9);
    RC_ASSERT(s.terms.budget_core_hours <= 0 ||
              hours * std::max(1U, s.node.cpus) <= s.terms.budget_core_hours + 1e-9);
  }
}

// There is a plain schedule of all jobs in one place: class after class, in shelves.
bool holds_all(const DemandInput& in, const Place& place) {
  seconds taken{0};
  for (const WorkLeft& work : in.work) {
    const std::uint64_t jobs = work.ready + work.held + work.soon;
    if (jobs == 0) continue;
    if (!fits(work.job_class, place)) return false;
    const auto slots = slots_on(work.job_class, place.node, place.nodes);
    taken += runtime_of(work.job_class) * static_cast<std::int64_t>((jobs + slots - 1) / slots);
  }
  return !place.has_limit || taken <= place.left;
}

RC_GTEST_PROP(Demand, asks_for_nothing_where_one_place_holds_all, ()) {
  DemandInput in = some_input();
  for (Scheduler& s : in.schedulers) s.terms.min = 0;
  const bool holds =
      std::ranges::any_of(in.places, [&](const Place& place) { return holds_all(in, place); });
  RC_PRE(holds);
  RC_ASSERT(demand_of(in).ask.empty());
}

RC_GTEST_PROP(Demand, asks_for_no_more_than_the_jobs_fill, ()) {
  DemandInput in = some_input();
  for (Scheduler& s : in.schedulers) s.terms.min = 0;
  const auto counts = counts_of(in, demand_of(in));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Scheduler& s = in.schedulers[i];
    const Place place = place_in(in.schedulers, 0, static_cast<std::uint32_t>(i + 1));
    if (!place.has_limit) continue;
    double fill = 0;
    std::uint32_t homeless = 0;  // classes for which the first one is asked, whatever fills it
    for (const WorkLeft& work : in.work) {
      if (work.ready + work.soon == 0 || !fits(work.job_class, place)) continue;
      const auto is_home = [&](const Place& one) { return fits(work.job_class, one); };
      if (std::ranges::none_of(in.places, is_home)) ++homeless;
      const auto slots = slots_on(work.job_class, place.node, place.nodes);
      fill += static_cast<double>(std::min(runtime_of(work.job_class), place.left).count()) *
              place.nodes / static_cast<double>(slots) *
              static_cast<double>(work.ready + work.soon);
    }
    const std::uint32_t further = counts[i].asked > homeless ? counts[i].asked - homeless : 0;
    const double granted = static_cast<double>(place.left.count()) * place.nodes;
    RC_ASSERT(fill + 1e-6 >= further * granted * s.terms.min_utilization / 1000.0);
  }
}

RC_GTEST_PROP(Demand, leaves_no_job_without_a_place_that_it_could_ask_for, ()) {
  const DemandInput in = some_input();
  const Demand demand = demand_of(in);
  const auto counts = counts_of(in, demand);
  for (std::uint32_t w = 0; w < in.work.size(); ++w) {
    const WorkLeft& work = in.work[w];
    const auto is_home = [&](const Place& place) { return fits(work.job_class, place); };
    if (work.ready == 0 || std::ranges::any_of(in.places, is_home)) continue;
    bool is_asked = false;
    bool could = false;
    bool has_scheduler = false;
    for (std::uint32_t n = 1; n <= in.schedulers.size(); ++n) {
      const Scheduler& s = in.schedulers[n - 1];
      if (!is_home(place_in(in.schedulers, 0, n))) continue;
      has_scheduler = true;
      const Counts& c = counts[n - 1];
      is_asked = is_asked || c.asked > 0;
      const double hours = static_cast<double>(s.walltime.count()) / 3600 * s.nodes;
      const auto within = [](double budget, double more) { return budget <= 0 || more <= budget; };
      could =
          could ||
          (s.is_managed && s.stopped.empty() && c.live + c.asked < s.terms.max &&
           c.waiting + c.asked < s.terms.max_queued && (!s.serialize || c.waiting + c.asked == 0) &&
           within(s.terms.budget_node_hours, hours * (c.asked + 1)) &&
           within(s.terms.budget_core_hours, hours * std::max(1U, s.node.cpus) * (c.asked + 1)));
    }
    RC_ASSERT(is_asked || !could);
    const bool is_stranded =
        std::ranges::find(demand.stranded, Stranded{w}) != demand.stranded.end();
    RC_ASSERT(is_stranded == !has_scheduler);
  }
}

RC_GTEST_PROP(Demand, leaves_each_class_a_place_when_surplus_is_gone, ()) {
  const DemandInput in = some_input();
  const Demand demand = demand_of(in);
  for (const std::uint32_t number : demand.surplus) {
    const auto its = std::ranges::find(in.places, number, &Place::allocation);
    RC_ASSERT(its != in.places.end());
    RC_ASSERT(its->waits);
    for (const WorkLeft& work : in.work) {
      if (work.ready + work.soon + work.later == 0 || !fits(work.job_class, *its)) continue;
      const bool has_other = std::ranges::any_of(in.places, [&](const Place& place) {
        return !is_surplus(demand, place) && fits(work.job_class, place);
      });
      RC_ASSERT(has_other);
    }
  }
}

RC_GTEST_PROP(Demand, comes_to_rest_when_it_gets_what_it_asks_for, ()) {
  DemandInput in = some_input();
  Demand demand = demand_of(in);
  for (int pass = 0; pass < 5 && !demand.ask.empty(); ++pass) {
    const DemandInput then = after(in, demand);
    const Demand next = demand_of(then);
    RC_LOG() << told(in, demand) << "then\n" << told(then, next);
    RC_ASSERT(next.surplus.empty());
    in = then;
    demand = next;
  }
  RC_ASSERT(demand.ask.empty());
}

RC_GTEST_PROP(Demand, of_what_is_over_is_nothing_and_all_that_waits_is_surplus, ()) {
  DemandInput in = some_input();
  in.is_over = true;
  const Demand demand = demand_of(in);
  RC_ASSERT(demand.ask.empty());
  const auto waiting = std::ranges::count_if(
      in.places, [](const Place& place) { return place.waits && place.allocation != 0; });
  RC_ASSERT(demand.surplus.size() == static_cast<std::size_t>(waiting));
}

}  // namespace
}  // namespace torc::claim
