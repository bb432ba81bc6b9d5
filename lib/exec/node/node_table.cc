#include "lib/exec/node/node_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace torc::exec {
namespace {

constexpr std::uint64_t kMagic = 0x746f72636e6f6431;  // "torcnod1"

// Words of the header.
constexpr std::size_t kMagicWord = 0;
constexpr std::size_t kUsedWord = 1;        // slots that were ever in use
constexpr std::size_t kGenerationWord = 2;  // the newest
constexpr std::size_t kReleasedWord = 3;

// Words of a slot.
constexpr std::size_t kState = 0;  // the generation that has it; 0: nobody
constexpr std::size_t kMemberCheck = 1;
constexpr std::size_t kMemberBytes = 2;
constexpr std::size_t kMemberText = 3;
constexpr std::size_t kCopyWords = 32;
constexpr std::size_t kCopies = NodeTable::kSlotWords - 2 * kCopyWords;
constexpr std::size_t kMostText = (kCopies - kMemberText) * 8;

// Words of a copy of a holding.
constexpr std::size_t kCpus = 6;
constexpr std::size_t kCheck = kCpus + CpuSet::kMost / 64;
// Behind what the first versions wrote, with a checksum of its own: they leave it as it is.
constexpr std::size_t kSums = kCheck + 1;
constexpr std::size_t kSumsCheck = kSums + NodeMember::kMostSums;
static_assert(kSumsCheck < kCopyWords);

constexpr int kMostReads = 100;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29);
}

std::size_t place(std::size_t slot) {
  return (slot + 1) * NodeTable::kSlotWords;
}

using Copy = std::array<std::uint64_t, kSumsCheck + 1>;

std::uint64_t check_of(const Copy& copy, std::uint64_t generation) {
  std::uint64_t hash = mixed(kMagic, generation);
  for (std::size_t i = 0; i < kCheck; ++i) hash = mixed(hash, copy[i]);
  return hash;
}

// Of the sums, with the copy that they belong to. Never 0: that is of a copy without any.
std::uint64_t sums_check_of(const Copy& copy) {
  std::uint64_t hash = mixed(kMagic, copy[kCheck]);
  for (std::size_t i = kSums; i < kSumsCheck; ++i) hash = mixed(hash, copy[i]);
  return hash | 1;
}

// None is before the boot: differences to now can be reckoned.
BootTime time_of(std::uint64_t word) {
  return BootTime(std::max<std::int64_t>(static_cast<std::int64_t>(word), 0));
}

Copy to_copy(const NodeHolding& h, std::uint64_t sequence, std::uint64_t generation) {
  Copy copy{};
  copy[0] = sequence;
  copy[1] = h.own_cpus;
  copy[2] = h.memory.value;
  copy[3] = h.own_memory.value;
  copy[4] = h.gpus;
  copy[5] = static_cast<std::uint64_t>(h.waiting_since.count());
  std::copy(h.cpus.words.begin(), h.cpus.words.end(), copy.begin() + kCpus);
  copy[kCheck] = check_of(copy, generation);
  if (h.sums != NodeSums{}) {
    std::copy(h.sums.begin(), h.sums.end(), copy.begin() + kSums);
    copy[kSumsCheck] = sums_check_of(copy);
  }
  return copy;
}

NodeHolding from_copy(const Copy& copy) {
  NodeHolding h;
  h.own_cpus = static_cast<std::uint32_t>(copy[1]);
  h.memory = {copy[2]};
  h.own_memory = {copy[3]};
  h.gpus = copy[4];
  h.waiting_since = time_of(copy[5]);
  std::copy_n(copy.begin() + kCpus, h.cpus.words.size(), h.cpus.words.begin());
  if (copy[kSumsCheck] == sums_check_of(copy))
    std::copy_n(copy.begin() + kSums, h.sums.size(), h.sums.begin());
  return h;
}

// What members of the pool hold of it.
NodeAmount used_of(std::uint64_t pool, const std::vector<NodeEntry>& entries) {
  NodeAmount used;
  for (const NodeEntry& e : entries) {
    const bool member = std::any_of(e.member.pools.begin(), e.member.pools.end(),
                                    [&](const NodePool& p) { return p.key == pool; });
    if (!member) continue;
    used.cpus += static_cast<std::uint32_t>(e.holding.cpus.count());
    used.memory = used.memory + e.holding.memory;
  }
  return used;
}

template <class T>
T rest(T all, T used) {
  return all > used ? all - used : T{};
}

// The CPU of `free` that the fewest others could be given.
std::size_t least_wanted(const CpuSet& free, const std::vector<NodeEntry>& others) {
  std::size_t best = CpuSet::kMost;
  std::ptrdiff_t fewest = 0;
  for (const std::uint32_t cpu : free.numbers()) {
    const auto wanted = std::count_if(others.begin(), others.end(),
                                      [&](const NodeEntry& e) { return e.member.cpus.has(cpu); });
    if (best == CpuSet::kMost || wanted < fewest) {
      best = cpu;
      fewest = wanted;
    }
  }
  return best;
}

void add_cpus(const NodeMember& member, NodeHolding& holding, std::uint32_t want,
              const std::vector<NodeEntry>& others) {
  std::size_t room = want;
  CpuSet free = member.cpus - holding.cpus;
  for (const NodeEntry& e : others) free = free - e.holding.cpus;
  for (const NodePool& pool : member.pools) {
    if (!pool.cpus) continue;
    const std::size_t used = used_of(pool.key, others).cpus + holding.cpus.count();
    room = std::min(room, rest<std::size_t>(*pool.cpus, used));
  }
  // What was granted, in number, can be less than the CPUs among which it may choose.
  room = std::min(room,
                  rest<std::size_t>(rest(member.most_cpus, member.own_cpus), holding.cpus.count()));
  for (room = std::min(room, free.count()); room > 0; --room, --want) {
    const std::size_t cpu = least_wanted(free, others);
    free.remove(cpu);
    holding.cpus.add(cpu);
  }
  holding.own_cpus += std::min(want, rest(member.own_cpus, holding.own_cpus));
}

void add_memory(const NodeMember& member, NodeHolding& holding, ByteCount want,
                const std::vector<NodeEntry>& others) {
  ByteCount room =
      std::min(want, rest(rest(member.most_memory, member.own_memory), holding.memory));
  for (const NodePool& pool : member.pools) {
    if (!pool.memory) continue;
    room = std::min(room, rest(*pool.memory, used_of(pool.key, others).memory + holding.memory));
  }
  holding.memory = holding.memory + room;
  holding.own_memory =
      holding.own_memory + std::min(want - room, rest(member.own_memory, holding.own_memory));
}

bool holds_gpu(const NodeEntry& e, std::uint64_t identity) {
  for (std::size_t i = 0; i < e.member.gpus.size(); ++i) {
    if (e.member.gpus[i].identity == identity && (e.holding.gpus >> i & 1) != 0) return true;
  }
  return false;
}

void add_gpus(const NodeMember& member, NodeHolding& holding, std::uint32_t want,
              const std::vector<NodeEntry>& others) {
  for (std::size_t i = 0; i < member.gpus.size() && want > 0; ++i) {
    const std::uint64_t identity = member.gpus[i].identity;
    if ((holding.gpus >> i & 1) != 0) continue;
    const bool taken = identity != 0 && std::any_of(others.begin(), others.end(), [&](auto& e) {
                         return holds_gpu(e, identity);
                       });
    if (taken) continue;
    holding.gpus |= std::uint64_t{1} << i;
    --want;
  }
}

// What those hold who share it.
std::uint64_t used_of_sum(std::uint64_t key, const std::vector<NodeEntry>& others) {
  std::uint64_t used = 0;
  for (const NodeEntry& e : others) {
    for (std::size_t i = 0; i < e.member.sums.size(); ++i) {
      // Whatever is written there, the sum stays a number.
      if (e.member.sums[i].key == key) used += std::min(e.holding.sums[i], kAllThereIs);
    }
  }
  return used;
}

void add_sums(const NodeMember& member, NodeHolding& holding, const NodeSums& want,
              const std::vector<NodeEntry>& others) {
  for (std::size_t i = 0; i < member.sums.size() && i < want.size(); ++i) {
    if (want[i] == 0) continue;
    const NodeSum& sum = member.sums[i];
    const std::uint64_t used = sum.key == 0 ? 0 : used_of_sum(sum.key, others);
    holding.sums[i] += std::min(want[i], rest(rest(sum.most, used), holding.sums[i]));
  }
}

}  // namespace

std::uint32_t NodeHolding::cpu_count() const {
  return static_cast<std::uint32_t>(cpus.count()) + own_cpus;
}

NodeHolding add_free(const NodeMember& member, NodeHolding holding, const NodeAmount& want,
                     const std::vector<NodeEntry>& others) {
  add_cpus(member, holding, want.cpus, others);
  add_memory(member, holding, want.memory, others);
  add_gpus(member, holding, want.gpus, others);
  add_sums(member, holding, want.sums, others);
  return holding;
}

bool NodeTable::prepare(BootTime now) {
  if (!memory_.reserve(0, kSlotWords)) return false;
  if (memory_.load(kMagicWord) == kMagic && memory_.load(kUsedWord) <= kSlots) return true;
  memory_.store(kMagicWord, 0);
  memory_.store(kUsedWord, 0);
  memory_.store(kGenerationWord, static_cast<std::uint64_t>(now.count()));
  memory_.store(kReleasedWord, 0);
  memory_.store(kMagicWord, kMagic);
  return true;
}

std::size_t NodeTable::used() const {
  return std::min<std::size_t>(memory_.load(kUsedWord), kSlots);
}

std::optional<NodeEntry> NodeTable::enter(const NodeMember& member, const NodeHolding& holding) {
  const std::string text = encode(member);
  if (text.size() > kMostText) return std::nullopt;
  std::size_t slot = 0;
  while (slot < used() && memory_.load(place(slot) + kState) != 0) ++slot;
  if (slot == kSlots) return std::nullopt;
  const std::size_t at = place(slot);
  if (slot == used()) {
    if (!memory_.reserve(at, kSlotWords)) return std::nullopt;
    memory_.store(at + kState, 0);  // of before a table that was found damaged
    memory_.store(kUsedWord, slot + 1);
  }
  NodeEntry entry{slot, memory_.load(kGenerationWord) + 1, member, holding};
  memory_.store(kGenerationWord, entry.generation);

  std::uint64_t check = mixed(mixed(kMagic, entry.generation), text.size());
  memory_.store(at + kMemberBytes, text.size());
  for (std::size_t done = 0, word = kMemberText; done < text.size(); done += 8, ++word) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + done, std::min<std::size_t>(8, text.size() - done));
    memory_.store(at + word, bytes);
    check = mixed(check, bytes);
  }
  memory_.store(at + kMemberCheck, check);
  std::uint64_t sequence = 0;
  write(entry, sequence);
  write(entry, sequence);
  memory_.store(at + kState, entry.generation);
  return entry;
}

void NodeTable::clear(std::size_t slot, std::uint64_t generation) {
  if (memory_.load(place(slot) + kState) == generation) memory_.store(place(slot) + kState, 0);
}

void NodeTable::write(const NodeEntry& entry, std::uint64_t& sequence) {
  ++sequence;
  const Copy copy = to_copy(entry.holding, sequence, entry.generation);
  const std::size_t at = place(entry.slot) + kCopies + (sequence % 2) * kCopyWords;
  // What completes the copy comes last.
  for (std::size_t i = kSums; i < copy.size(); ++i) memory_.store(at + i, copy[i]);
  for (std::size_t i = 0; i < kSums; ++i) memory_.store(at + i, copy[i]);
}

bool NodeTable::is_there(const NodeEntry& entry) const {
  return memory_.load(kMagicWord) == kMagic && entry.slot < used() &&
         memory_.load(place(entry.slot) + kState) == entry.generation;
}

bool NodeTable::is_whole(const NodeEntry& entry) const {
  return is_there(entry) && read_member(entry.slot, entry.generation) &&
         read_holding(entry.slot, entry.generation);
}

std::optional<NodeMember> NodeTable::read_member(std::size_t slot, std::uint64_t generation) const {
  const std::size_t at = place(slot);
  const std::size_t size = memory_.load(at + kMemberBytes);
  if (size > kMostText) return std::nullopt;
  std::string text((size + 7) / 8 * 8, '\0');
  std::uint64_t check = mixed(mixed(kMagic, generation), size);
  for (std::size_t done = 0, word = kMemberText; done < size; done += 8, ++word) {
    const std::uint64_t bytes = memory_.load(at + word);
    std::memcpy(text.data() + done, &bytes, 8);
    check = mixed(check, bytes);
  }
  if (check != memory_.load(at + kMemberCheck)) return std::nullopt;
  return decode_member(std::string_view(text).substr(0, size));
}

// The newer of two copies that are whole. An owner that gives back at the same moment can spoil
// both for one look, never for many.
std::optional<NodeHolding> NodeTable::read_holding(std::size_t slot,
                                                   std::uint64_t generation) const {
  for (int reads = 0; reads < kMostReads; ++reads) {
    std::optional<Copy> newest;
    bool sums_stand = true;
    for (std::size_t n = 0; n < 2; ++n) {
      const std::size_t at = place(slot) + kCopies + n * kCopyWords;
      Copy copy{};
      for (std::size_t i = 0; i < copy.size(); ++i) copy[i] = memory_.load(at + i);
      if (copy[kCheck] != check_of(copy, generation)) continue;
      if (newest && copy[0] <= (*newest)[0]) continue;
      newest = copy;
      sums_stand = copy[kSumsCheck] == 0 || copy[kSumsCheck] == sums_check_of(copy);
    }
    // They do not while they are written, and where somebody else left some before a worker of an
    // earlier version came: that one has none.
    if (newest && (sums_stand || reads + 1 == kMostReads)) return from_copy(*newest);
  }
  return std::nullopt;
}

std::vector<NodeEntry> NodeTable::read(std::size_t except) const {
  std::vector<NodeEntry> all;
  if (memory_.load(kMagicWord) != kMagic) return all;
  const std::size_t slots = used();  // asked once: another process may add one at any moment
  if (known_.size() < slots) known_.resize(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (slot == except) continue;
    const std::uint64_t generation = memory_.load(place(slot) + kState);
    if (generation == 0) continue;
    Known& known = known_[slot];
    if (known.generation != generation) known = {generation, read_member(slot, generation)};
    if (!known.member) continue;
    auto holding = read_holding(slot, generation);
    if (!holding || memory_.load(place(slot) + kState) != generation) continue;
    all.push_back({slot, generation, *known.member, *std::move(holding)});
  }
  return all;
}

BootTime NodeTable::released_at() const {
  return time_of(memory_.load(kReleasedWord));
}

void NodeTable::set_released_at(BootTime at) {
  memory_.store(kReleasedWord, static_cast<std::uint64_t>(at.count()));
}

}  // namespace torc::exec
