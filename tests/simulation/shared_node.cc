#include "tests/simulation/shared_node.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tests/simulation/plan.h"
#include "tests/simulation/process.h"

namespace torc::simulation {

class SharedNode::Ledger final : public exec::NodeLedger {
 public:
  Ledger(SharedNode& node, Process& process, Clock& clock, exec::NodeMember member)
      : node_(node), process_(process), clock_(clock) {
    mine_.member = std::move(member);
    enter();
  }
  ~Ledger() override {
    const auto slot = find();
    if (slot == node_.slots_.end()) return;
    node_.slots_.erase(slot);
    node_.released_at_ = clock_.boot_now();
    node_.ring(process_);
  }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  [[nodiscard]] const exec::NodeHolding& holding() const override { return mine_.holding; }
  [[nodiscard]] const exec::NodeMember& member() const override { return mine_.member; }

  Taken take(const exec::NodeAmount& want) override {
    if (!is_there()) enter();
    const BootTime now = clock_.boot_now();
    const std::uint32_t cpus = mine_.holding.cpu_count();
    const ByteCount memory = mine_.holding.memory;
    exec::NodeHolding more = add_free(mine_.member, mine_.holding, want, others());
    const auto is_complete = [&] {
      return more.cpu_count() - cpus == want.cpus && more.memory == memory + want.memory;
    };
    if (!is_complete()) {
      std::erase_if(node_.slots_, [&](const Slot& s) { return s.of != &process_ && is_gone(s); });
      more = add_free(mine_.member, mine_.holding, want, others());
    }
    if (is_others_turn(now)) return {false, node_.released_at_ + kHeadStart};
    const bool complete = is_complete() || others().empty();
    if (more.cpu_count() > cpus) took_at_ = now;
    if (more != mine_.holding) {
      if (more.waiting_since != BootTime{}) more.waiting_since = now;
      mine_.holding = more;
      write();
    }
    return {complete, {}};
  }

  [[nodiscard]] exec::NodeHolding could_hold() const override {
    if (!is_there()) return mine_.holding;
    std::vector<exec::NodeEntry> there;
    for (const Slot& s : node_.slots_) {
      if (s.of != &process_ && !is_gone(s)) there.push_back(s.entry);
    }
    return add_free(mine_.member, mine_.holding,
                    {mine_.member.most_cpus, mine_.member.most_memory, 0}, there);
  }

  void keep(const exec::NodeHolding& rest) override {
    const BootTime waits = mine_.holding.waiting_since;
    mine_.holding = rest;
    mine_.holding.waiting_since = waits;
    if (!is_there()) return;
    write();
    const auto all = others();
    if (std::none_of(all.begin(), all.end(), [](const auto& e) { return waits_for_more(e); }))
      return;
    node_.released_at_ = clock_.boot_now();
    node_.ring(process_);
  }

  void wait_for_more(bool waits) override {
    if (waits == waits_for_more(mine_)) return;
    mine_.holding.waiting_since = waits ? clock_.boot_now() : BootTime{};
    write();
  }
  [[nodiscard]] int bell() override { return -1; }
  void silence_bell() override {}

  [[nodiscard]] std::uint32_t owed_to_others() const override {
    const BootTime now = clock_.boot_now();
    if (!is_there() || now - took_at_ < kTurn) return 0;
    const std::uint32_t held = mine_.holding.cpu_count();
    const exec::NodeEntry* first = nullptr;
    for (const Slot& s : node_.slots_) {
      const exec::NodeEntry& e = s.entry;
      if (s.of == &process_ || is_gone(s) || !waits_for_more(e)) continue;
      if (now - e.holding.waiting_since < kTurn) continue;
      const std::uint32_t theirs = e.holding.cpu_count();
      if (theirs >= held || theirs >= e.member.most_cpus) continue;
      if (first == nullptr || e.holding.waiting_since < first->holding.waiting_since) first = &e;
    }
    if (first == nullptr) return 0;
    const std::uint32_t theirs = first->holding.cpu_count();
    return std::min((held - theirs + 1) / 2, first->member.most_cpus - theirs);
  }

  [[nodiscard]] bool is_there() const override { return find() != node_.slots_.end(); }
  void reenter(const exec::NodeHolding& in_use) override {
    mine_.holding = in_use;
    mine_.holding.waiting_since = {};
    enter();
  }

 private:
  static bool waits_for_more(const exec::NodeEntry& e) {
    return e.holding.waiting_since != BootTime{};
  }
  [[nodiscard]] std::list<Slot>::iterator find() const {
    return std::find_if(node_.slots_.begin(), node_.slots_.end(), [&](const Slot& s) {
      return s.of == &process_ && s.entry.generation == mine_.generation;
    });
  }
  void enter() {
    mine_.generation = ++node_.generations_;
    node_.slots_.push_back({&process_, mine_});
  }
  void write() {
    if (const auto slot = find(); slot != node_.slots_.end()) slot->entry = mine_;
  }
  [[nodiscard]] std::vector<exec::NodeEntry> others() const {
    std::vector<exec::NodeEntry> all;
    for (const Slot& s : node_.slots_) {
      if (s.of != &process_ || s.entry.generation != mine_.generation) all.push_back(s.entry);
    }
    return all;
  }
  [[nodiscard]] bool is_others_turn(BootTime now) const {
    const BootTime until = node_.released_at_ + kHeadStart;
    if (node_.released_at_ == BootTime{} || now >= until) return false;
    const BootTime mine = waits_for_more(mine_) ? mine_.holding.waiting_since : now;
    const auto all = others();
    return std::any_of(all.begin(), all.end(), [&](const exec::NodeEntry& e) {
      return waits_for_more(e) && e.holding.waiting_since < mine;
    });
  }

  SharedNode& node_;
  Process& process_;
  Clock& clock_;
  exec::NodeEntry mine_;
  BootTime took_at_{};
};

std::unique_ptr<exec::NodeLedger> SharedNode::enter(Process& process, Clock& clock,
                                                    std::uint32_t cpus, std::uint32_t most_cpus) {
  exec::NodeMember member;
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) member.cpus.add(cpu);
  member.most_cpus = most_cpus;
  member.most_memory = ByteCount{kMemoryUnit.value * cpus};
  member.pools.push_back({1, cpus, member.most_memory});
  return std::make_unique<Ledger>(*this, process, clock, std::move(member));
}

// One that stands still and has nothing that runs uses nothing, and may never go on.
bool SharedNode::is_gone(const Slot& slot) {
  return slot.of->has_ended() || (slot.of->stands_still() && !slot.of->has_runs());
}

void SharedNode::ring(const Process& by) {
  for (const Slot& s : slots_) {
    if (s.of != &by && s.entry.holding.waiting_since != BootTime{}) s.of->hear_bell();
  }
}

}  // namespace torc::simulation
