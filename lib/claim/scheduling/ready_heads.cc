#include "lib/claim/scheduling/ready_heads.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/claim/queries/learned_times.h"
#include "lib/claim/queries/queries.h"

namespace torc::claim {
namespace {

constexpr std::size_t kMostAtOnce = 256;

bool comes_first(const QueueHead& a, const QueueHead& b) {
  return ComesFirst{}(a, b);
}

}  // namespace

ReadyHeads::ReadyHeads(Transaction& tx, State& state, ReadyQueues& queues, Quota& quota,
                       WorkerEpoch worker, const Offer& offer, SortMethod sort, GangPlan* gangs)
    : tx_(tx),
      state_(state),
      queues_(queues),
      quota_(quota),
      worker_(worker),
      offer_(offer),
      sort_(sort),
      gangs_(gangs),
      ordered_(queues.ordered() && offer.only == nullptr) {
  queues.store();
  if (offer.only != nullptr) {
    read_chosen(*offer.only);
  } else if (!ordered_) {
    read_all();
  }
  pass_ = heads_.begin();
}

void ReadyHeads::read_all() {
  each_ready_head(state_, [&](const ReadyRange& range) {
    add_head(range);
    return true;
  });
  all_read_ = true;
}

void ReadyHeads::add_head(const ReadyRange& range) {
  QueueHead at{range};
  Head head;
  if (!concerns(at, head)) return;
  // What has been learned decides whether and when, and is promised to nobody.
  Requirement need = head.first.job_class.need;
  need.runtime = head.first.runtime;
  at.size = size_of(need, sort_);
  at.nodes = need.nodes;
  head.listed = at;
  heads_.emplace(at, std::move(head));
}

void ReadyHeads::read_chosen(const std::vector<JobRange>& only) {
  // More of one queue than can be taken are not looked at.
  const std::uint64_t enough = offer_.max_jobs + std::min(offer_.prefetch, UINT64_MAX / 2);
  std::vector<ReadyRange> found;
  std::uint64_t of_this = 0;
  const auto decode = [](const store::Entry& e) { return decode_ready(e.key, e.value); };
  each_readable(state_, Key(Table::ready), decode, [&](const ReadyRange& range) {
    if (!found.empty() && found.back().job_class != range.job_class) of_this = 0;
    const auto ends_later = [](std::uint64_t first, const JobRange& r) {
      return first < raw(r.first) + r.count;
    };
    auto at = std::upper_bound(only.begin(), only.end(), range.first, ends_later);
    for (; at != only.end() && raw(at->first) < range.end() && of_this < enough; ++at) {
      ReadyRange part = range;
      part.first = std::max(range.first, raw(at->first));
      part.count = std::min(range.end(), raw(at->first) + at->count) - part.first;
      found.push_back(part);
      of_this += part.count;
    }
    return true;
  });
  for (const ReadyRange& part : found) add_head(part);
  all_read_ = true;
}

void ReadyHeads::read_more() {
  const bool sized = sort_ != SortMethod::none;
  std::string from{std::string_view(Key(Table::order))};
  if (newest_) from = std::string(std::string_view(order_key(*newest_, sized))) + '\0';
  auto first_new = heads_.end();
  std::size_t found = 0;
  tx_.scan(from, [&](const store::Entry& e) {
    if (!is_in(Table::order, e.key)) return false;
    const auto head = decode_order(e.key, e.value);
    if (!head || e.key != std::string_view(order_key(*head, sized))) {
      state_.damaged(e.key);
      return false;
    }
    const auto at = heads_.emplace(*head, Head{.listed = *head}).first;
    if (first_new == heads_.end()) first_new = at;
    newest_ = *head;
    return ++found < at_once_;
  });
  all_read_ = found < at_once_;
  at_once_ = std::min(2 * at_once_, kMostAtOnce);
  if (first_new != heads_.end() &&
      (pass_ == heads_.end() || comes_first(first_new->first, pass_->first)))
    pass_ = first_new;
}

bool ReadyHeads::concerns(const QueueHead& at, Head& head) {
  if (std::exchange(head.known, true)) return true;
  JobClass& job_class = head.first.job_class = state_.job_class(at.range.job_class);
  head.first.runtime = expected_run(tx_, job_class);
  if (!job_class.others.empty()) {
    const JobClass whole = std::exchange(job_class, job_class.by(0));
    return add_choices(whole, head);
  }
  const auto declared = std::exchange(job_class.need.runtime, head.first.runtime);
  head.gang = gangs_ != nullptr && gangs_->concerns(job_class);
  const bool does = head.gang || could_fit(job_class, offer_);
  job_class.need.runtime = declared;
  return does;
}

bool ReadyHeads::add_choices(const JobClass& job_class, Head& head) {
  for (const std::uint32_t alternative : job_class.preferred()) {
    Choice choice{alternative, job_class.by(alternative),
                  expected_run(tx_, job_class, alternative)};
    Requirement& need = choice.job_class.need;
    const auto declared = std::exchange(need.runtime, choice.runtime);
    const bool does = could_fit(choice.job_class, offer_);
    need.runtime = declared;
    if (does) head.choices.push_back(std::move(choice));
  }
  return !head.choices.empty();
}

// With alternatives nothing is prefetched: may_be_prefetched().
const ReadyHeads::Choice* ReadyHeads::choice_for(const Head& head, const Capacity* free) {
  if (head.waits) return nullptr;
  if (head.choices.empty()) {
    const bool may = head.gang || is_eligible(head.first, free);
    return may && quota_.room(head.first.job_class, worker_) > 0 ? &head.first : nullptr;
  }
  if (free == nullptr) return nullptr;
  for (const Choice& one : head.choices) {
    if (is_eligible(one, free) && quota_.room(one.job_class, worker_) > 0) return &one;
  }
  return nullptr;
}

bool ReadyHeads::is_eligible(const Choice& choice, const Capacity* free) const {
  if (gangs_ != nullptr && !gangs_->lets(choice.runtime)) return false;
  return free != nullptr ? how_many_fit(choice.job_class, *free, offer_) > 0
                         : may_be_prefetched(choice.job_class);
}

ReadyHeads::Heads::iterator ReadyHeads::next(const Capacity* free) {
  if (free == nullptr && !std::exchange(second_pass_, true)) pass_ = heads_.begin();
  while (true) {
    const bool beyond = pass_ == heads_.end() || !newest_ || comes_first(*newest_, pass_->first);
    if (beyond && !all_read_) {
      read_more();
    } else if (pass_ == heads_.end()) {
      return pass_;
    } else if (!concerns(pass_->first, pass_->second)) {
      pass_ = heads_.erase(pass_);
    } else if ((choice_ = choice_for(pass_->second, free)) != nullptr) {
      return pass_;
    } else {
      ++pass_;
    }
  }
}

std::optional<ReadyHeads::Take> ReadyHeads::take(Capacity* free, std::uint64_t limit) {
  auto best = next(free);
  for (; best != heads_.end() && best->second.gang; best = next(free)) {
    const auto& [at, head] = *best;
    const bool untouched = free != nullptr && free->untouched && limit > 0;
    JobClass seen = head.first.job_class;
    seen.need.runtime = head.first.runtime;
    const unsigned before = gangs_->revision();
    if (gangs_->begins(seen, at.range.job_class, at.range.first + head.taken, untouched)) {
      const Take taken{at.range.job_class,
                       at.range.priority,
                       at.range.first + head.taken,
                       1,
                       head.first.runtime,
                       0,
                       true};
      *free = Capacity{no_resources(), false, Alone::no, true};
      take_from(best, 1);
      return taken;
    }
    best->second.waits = true;
    // Nothing is prefetched to a node that is kept.
    if (free == nullptr && gangs_->keeps_asker()) return std::nullopt;
    // What was passed over for what was kept may be let now.
    if (gangs_->revision() != before) pass_ = heads_.begin();
  }
  looked_at_all_ = best == heads_.end();
  if (best == heads_.end() || limit == 0) return std::nullopt;

  // All of the range goes before the next head: ranges are disjoint, so that they never interleave
  // by id.
  const auto& [at, head] = *best;
  const Choice& choice = *choice_;
  std::uint64_t count =
      std::min({limit, at.range.count - head.taken, quota_.room(choice.job_class, worker_)});
  if (free != nullptr) {
    count = std::min(count, how_many_fit(choice.job_class, *free, offer_));
    occupy(*free, choice.job_class, count, offer_);
  } else {
    quota_.take_prefetch(choice.job_class, count);
  }
  const Take taken{at.range.job_class,
                   at.range.priority,
                   at.range.first + head.taken,
                   count,
                   choice.runtime,
                   choice.alternative,
                   false};
  take_from(best, count);
  return taken;
}

void ReadyHeads::take_from(Heads::iterator at, std::uint64_t count) {
  auto& [head, state] = *at;
  if (ordered_ && state.taken == 0) {
    // The order is believed of what is passed over alone.
    const Key key = ready_key(head.range);
    const auto value = tx_.get(key);
    if (!value || decode_ready(key, *value) != head.range) state_.damaged(key);
  }
  state.taken += count;
  if (state.taken == head.range.count) advance(at);
}

void ReadyHeads::advance(Heads::iterator at) {
  if (offer_.only != nullptr) {
    used_up_.push_back(at->first.range);
    pass_ = heads_.erase(at);
    return;
  }
  const Key key = ready_key(at->first.range);
  const std::uint32_t job_class = at->first.range.job_class;
  tx_.erase(key);
  const auto entry = tx_.seek(key);
  const auto range = entry ? decode_ready(entry->key, entry->value) : std::nullopt;
  if (entry && is_in(Table::ready, entry->key) && !range) state_.damaged(entry->key);
  pass_ = std::next(at);
  auto node = heads_.extract(at);
  if (!range || range->job_class != job_class) {
    emptied_.push_back(node.mapped().listed);
    return;
  }
  node.key().range = *range;
  node.mapped().taken = 0;
  const auto there = heads_.insert(std::move(node)).position;
  if (pass_ == heads_.end() || comes_first(there->first, pass_->first)) pass_ = there;
}

void ReadyHeads::write_back() {
  if (offer_.only != nullptr) {
    const auto withdraw = [&](const ReadyRange& range, std::uint64_t count) {
      queues_.withdraw({range.job_class, range.priority, range.first}, count);
    };
    for (const ReadyRange& range : used_up_) withdraw(range, range.count);
    for (const auto& [at, head] : heads_) {
      if (head.taken > 0) withdraw(at.range, head.taken);
    }
    return;
  }
  for (const auto& [at, head] : heads_) {
    QueueHead now = at;
    if (head.taken > 0) {
      tx_.erase(ready_key(at.range));
      now.range.first += head.taken;
      now.range.count -= head.taken;
      put_ready(tx_, now.range);
    }
    if (now != head.listed) put_down(head.listed, now);
  }
  for (const QueueHead& listed : emptied_) put_down(listed, std::nullopt);
}

void ReadyHeads::put_down(const QueueHead& listed, const std::optional<QueueHead>& now) {
  if (!ordered_) return;
  const bool sized = sort_ != SortMethod::none;
  tx_.erase(order_key(listed, sized));
  if (now) tx_.put(order_key(*now, sized), order_value(*now));
}

}  // namespace torc::claim
