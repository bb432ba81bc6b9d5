// The table of the node ledger: a member as it is written there, entered with holdings that are
// made up, and words of the table overwritten.
#include <algorithm>
#include <optional>
#include <vector>

#include "lib/base/codec.h"
#include "lib/exec/node/node_table.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace torc::exec;

class Words final : public WordMemory {
 public:
  Words() : words_(NodeTable::kWords, 0) {}
  [[nodiscard]] std::uint64_t load(std::size_t word) const override { return words_.at(word); }
  void store(std::size_t word, std::uint64_t value) override { words_.at(word) = value; }
  bool reserve(std::size_t, std::size_t) override { return true; }
  // Of the part that the input can reach.
  void clear() { std::fill_n(words_.begin(), kReached, 0); }
  static constexpr std::size_t kReached = 4 * NodeTable::kSlotWords;

 private:
  std::vector<std::uint64_t> words_;
};

NodeHolding holding_of(torc::Decoder& in) {
  NodeHolding h;
  for (std::size_t i = 0; i < 4; ++i) h.cpus.words[i] = in.varint();
  h.own_cpus = static_cast<std::uint32_t>(in.varint());
  h.memory = {in.varint()};
  h.own_memory = {in.varint()};
  h.gpus = in.varint();
  h.sums = {in.varint(), in.varint()};
  // Of one before the boot, which no worker writes, the table makes no wait at all.
  h.waiting_since = std::max(torc::BootTime(in.svarint()), torc::BootTime{});
  return h;
}

NodeMember somebody() {
  NodeMember m;
  m.worker = m.watchdog = {1, 1};
  m.store = "/data/run.torc";
  m.cpus = parse_cpus("0-7");
  m.most_cpus = 8;
  m.most_memory = {1000};
  m.pools = {{1, 8, torc::ByteCount{1000}}};
  m.gpus = {{"0", 1}, {"1", 2}};
  m.sums = {{3, 5000}, {4, 1}};
  return m;
}

// What anybody may take beside those that are there.
void check_taking(const NodeMember& member, const std::vector<NodeEntry>& others) {
  const NodeHolding taken =
      add_free(member, {}, {member.most_cpus, member.most_memory, 64, {9000, 9000}}, others);
  TORC_MUST(taken.cpus == (taken.cpus - (taken.cpus - member.cpus)));
  TORC_MUST(taken.cpu_count() <= member.most_cpus);
  TORC_MUST(taken.memory <= member.most_memory);
  for (std::size_t i = 0; i < member.sums.size(); ++i)
    TORC_MUST(taken.sums[i] <= member.sums[i].most);
  for (const NodeEntry& e : others) TORC_MUST(!taken.cpus.meets(e.holding.cpus));
}

}  // namespace

TORC_FUZZ_TARGET(ledger) {
  static Words words;
  words.clear();
  NodeTable table(words);
  TORC_MUST(table.prepare(torc::BootTime(7)));
  const NodeMember sane = somebody();
  TORC_MUST(table.enter(sane, {}).has_value());
  torc::Decoder in(input);
  const std::optional<NodeMember> member = decode_member(in.text());
  const NodeHolding holding = holding_of(in);
  if (member) {
    TORC_MUST(encode(*decode_member(encode(*member))) == encode(*member));
    if (const auto entry = table.enter(*member, holding)) {
      const auto all = table.read(0);
      TORC_MUST(all.size() == 1 && all[0].holding == holding);
      TORC_MUST(encode(all[0].member) == encode(*member));
      (void)add_free(*member, holding, {1, {1}, 1}, table.read(entry->slot));
    }
  }
  check_taking(sane, table.read(0));
  // Then a few words are others.
  for (int left = 20; left > 0 && !in.at_end(); --left) {
    const std::uint64_t word = in.varint() % Words::kReached;
    words.store(word, in.varint());
  }
  NodeTable again(words);
  check_taking(sane, again.read());
  TORC_MUST(again.prepare(torc::BootTime(8)));
  if (const auto entry = again.enter(sane, {})) {
    TORC_MUST(again.is_there(*entry));
    again.clear(entry->slot, entry->generation);
    TORC_MUST(!again.is_there(*entry));
  }
}
