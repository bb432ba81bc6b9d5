// What a node and a user keep for themselves, whole and well-formed: the page that the processes of
// a node share, the ledger of who uses what of it, the list of stores that are trusted.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "lib/exec/machine/machine.h"
#include "lib/exec/node/node_file.h"
#include "lib/exec/node/node_table.h"
#include "lib/store/disk/gate.h"
#include "lib/store/engine/meta.h"
#include "tests/integration/harness.h"
#include "tests/mutation/mutation.h"

namespace torc::mutation {
namespace {

namespace fs = std::filesystem;
using itest::read_text;

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::string_view kOrders = "\x1b[31m\r\nred\x07\xc2\x9b";

exec::NodeMember live_member() {
  exec::NodeMember member;
  member.worker = member.watchdog = exec::this_process();
  member.since = WallTime(1'700'000'000'000'000);
  member.store = "/data/run.torc";
  member.cpus = exec::parse_cpus("0");
  member.most_cpus = 1;
  member.most_memory = mebibytes(100);
  return member;
}

std::uint32_t any_small_number(Random& random) {
  return static_cast<std::uint32_t>(any_number(random));
}

void forge_member(exec::NodeMember& member, Random& random) {
  if (random.one_in(3)) member.worker = member.watchdog = {any_number(random), any_number(random)};
  if (random.one_in(2)) member.since = WallTime(static_cast<std::int64_t>(any_number(random)));
  if (random.one_in(2)) member.store = kOrders;
  if (random.one_in(3)) member.most_cpus = any_small_number(random);
  if (random.one_in(3)) member.own_cpus = any_small_number(random);
  if (random.one_in(3)) member.most_memory = {any_number(random)};
  if (random.one_in(3)) member.own_memory = {any_number(random)};
  for (std::size_t left = random.below(4); left > 0; --left)
    member.pools.push_back(
        {any_number(random), any_small_number(random), ByteCount{any_number(random)}});
  for (std::size_t left = random.below(4); left > 0; --left)
    member.gpus.push_back({std::string(kOrders), any_number(random)});
  for (std::size_t left = random.below(4); left > 0; --left)
    member.sums.push_back({any_number(random), any_number(random)});
}

exec::NodeHolding any_holding(Random& random) {
  exec::NodeHolding holding;
  if (random.one_in(2)) holding.own_cpus = any_small_number(random);
  if (random.one_in(2)) holding.memory = {any_number(random)};
  if (random.one_in(2)) holding.own_memory = {any_number(random)};
  if (random.one_in(2)) holding.gpus = any_number(random);
  if (random.one_in(2)) holding.sums = {any_number(random), any_number(random)};
  if (random.one_in(2))
    holding.waiting_since = BootTime(static_cast<std::int64_t>(any_number(random)));
  return holding;
}

// The ledger is where a command of the user looks for it: this process may be another user.
template <class Write>
void make_ledger(const Target& target, const Write& write) {
  const Path made = target.round / "node.made";
  const uid_t user = target.user.value_or(geteuid());
  const Path directory = target.round / "node" / fmt::format("torc-{}", user);
  fs::remove_all(directory);
  fs::create_directory(made);
  Path name;
  {
    const auto file = exec::NodeFile::open({{made}, {}}, exec::NodeFile::Missing::make);
    if (!file.ok()) throw std::runtime_error("no ledger: " + file.error().text());
    name = (*file)->path();
    exec::NodeTable table(**file);
    if (!table.prepare(BootTime(1))) throw std::runtime_error("no room for a ledger");
    write(**file, table);
  }
  fs::rename(name.parent_path(), directory);
  fs::remove(made);
  own(target, directory);
  own(target, directory / name.filename());
}

std::vector<Path> gates_of(const Target& target) {
  std::vector<Path> out;
  for (const Path& below : {target.store, target.round / "tmp"}) {
    for (const auto& entry : fs::recursive_directory_iterator(below)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file() && (name == "gate" || name.starts_with("gate-")) &&
          entry.file_size() == sizeof(store::Gate::Shared))
        out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::uint64_t any_number(Random& random) {
  static const std::vector<std::uint64_t> kNumbers = {0,
                                                      1,
                                                      2,
                                                      1000,
                                                      INT32_MAX,
                                                      UINT32_MAX,
                                                      std::uint64_t{1} << 40,
                                                      std::uint64_t{1} << 48,
                                                      std::uint64_t{1} << 62,
                                                      INT64_MAX,
                                                      std::uint64_t{1} << 63,
                                                      UINT64_MAX - 1,
                                                      UINT64_MAX};
  return random.one_in(6) ? random.any() : random.pick(kNumbers);
}

void put_ledger(const Target& target) {
  make_ledger(target, [](exec::NodeFile&, exec::NodeTable& table) {
    (void)table.enter(live_member(), {});
  });
}

std::string forge_ledger(const Target& target, Random& random) {
  std::string what;
  make_ledger(target, [&](exec::NodeFile& file, exec::NodeTable& table) {
    const std::size_t members = 1 + random.below(3);
    for (std::size_t i = 0; i < members; ++i) {
      exec::NodeMember member = live_member();
      forge_member(member, random);
      (void)table.enter(member, any_holding(random));
    }
    what = fmt::format("ledger with {} member(s) that cannot be", members);
    if (random.one_in(2)) {
      table.set_released_at(BootTime(static_cast<std::int64_t>(any_number(random))));
      what += ", another time of its last release";
    }
    if (random.one_in(3)) {
      const std::size_t word = random.below(8);
      file.store(word, any_number(random));
      what += fmt::format(", another word {}", word);
    }
  });
  return what;
}

std::string forge_gate(const Target& target, Random& random) {
  const std::vector<Path> gates = gates_of(target);
  if (gates.empty()) return {};
  const Path& file = random.pick(gates);
  std::string bytes = read_text(file);
  // Behind the magic: now and then the mutex itself, else what is told beside it.
  const std::size_t beside = 1 + sizeof(pthread_mutex_t) / kWord;
  const bool mutex = random.one_in(4);
  std::string words;
  for (std::size_t left = 1 + random.below(6); left > 0; --left) {
    const std::size_t word =
        mutex ? 1 + random.below(beside - 1) : beside + random.below(bytes.size() / kWord - beside);
    const std::uint64_t value = any_number(random);
    std::memcpy(bytes.data() + word * kWord, &value, kWord);
    words += fmt::format(" {}={:#x}", word, value);
  }
  put_file(target, file, bytes);
  return fmt::format("{} with other words{}: {}", file.filename().string(),
                     mutex ? " in its mutex" : "", words);
}

std::string forge_trusted(const Target& target, Random& random) {
  const Path meta_file = target.store / "META";
  const auto meta = store::decode_meta(read_text(meta_file), meta_file);
  if (!meta.ok()) return {};
  const Path directory = target.round / "home/torc";
  fs::create_directories(directory);
  own(target, directory);
  std::string text;
  for (std::size_t left = 1 + random.below(5); left > 0; --left) {
    switch (random.below(5)) {
      case 0:
        text += random.bytes(random.below(200));
        break;
      case 1:
        text += fmt::format("{} {} {}\n", any_number(random), meta->identity.id_hex(),
                            target.store.string());
        break;
      case 2:
        text += fmt::format("0 {} {}\n", meta->identity.id_hex(), kOrders);
        break;
      case 3:
        text += fmt::format("0 {} {}\n", std::string(32, 'z'), std::string(20'000, 'a'));
        break;
      default:
        text += std::string(random.below(100'000), random.one_in(2) ? '\n' : '\0');
    }
  }
  put_file(target, directory / "trusted", text);
  return fmt::format("trusted list of {} bytes", text.size());
}

}  // namespace torc::mutation
