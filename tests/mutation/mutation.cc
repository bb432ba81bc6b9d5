#include "tests/mutation/mutation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <regex>
#include <system_error>

#include "tests/integration/harness.h"

namespace torc::mutation {
namespace {

namespace fs = std::filesystem;
using itest::read_text;

constexpr std::uintmax_t kGiant = std::uintmax_t{100} << 30;

// What a file is for, so that the many commits and outputs are not chosen more often than META.
std::string kind_of(const Path& relative) {
  static const std::vector<std::pair<std::regex, std::string>> kKinds = [] {
    std::vector<std::pair<std::regex, std::string>> kinds;
    for (const auto& [pattern, kind] : std::vector<std::pair<const char*, const char*>>{
             {"state-[^/]*/journal/.*/.*", "commit"},
             {"state-[^/]*/journal/[^/]*", "directory of commits"},
             {"state-[^/]*/segment/.*", "segment"},
             {"state-[^/]*/snapshot/.*", "snapshot"},
             {"state-[^/]*/beats/.*", "heartbeat"},
             {"state-[^/]*/(.*)", "$1"},
             {"state-[^/]*", "state directory"},
             {"gate-.*", "gate"},
             {"logs/jobs/packed/.*", "packed output"},
             {"logs/jobs/series/.*", "series"},
             {"logs/jobs/actions/.*", "output of an action"},
             {"logs/jobs/0[0-9]*/.*", "output"},
             {"slurm/.*", "batch script"},
             {"tmp/torc-[0-9]*/[^/]*/(.*)", "copy's $1"},
             {"tmp/torc-[0-9]*/[^/]*", "copy of the state"},
             {"tmp/torc-[0-9]*", "directory of copies"},
             {"node/torc-[0-9]*/.*", "ledger"},
             {"node/torc-[0-9]*", "directory of the ledger"},
             {"home/torc/(.*)", "user's $1"}})
      kinds.emplace_back(pattern, kind);
    return kinds;
  }();
  std::smatch found;
  const std::string text = relative.string();
  for (const auto& [pattern, kind] : kKinds) {
    if (std::regex_match(text, found, pattern)) return found.format(kind);
  }
  return text;
}

bool is_output(const std::string& kind) {
  return kind.find("output") != std::string::npos || kind == "series";
}

struct Entry {
  Path path;
  std::string kind;
  [[nodiscard]] std::string text() const {
    const std::string name = path.filename().string();
    return kind.ends_with(name) ? kind : kind + " " + name;
  }
};

enum class Wanted : std::uint8_t { files, directories };

// One of what is in the store: each kind as often as each other one.
std::optional<Entry> any_entry(const Target& target, Wanted wanted, Random& random) {
  std::map<std::string, std::vector<Path>> kinds;
  const auto look = [&](const Path& below, const Path& named_from) {
    for (const auto& entry : fs::recursive_directory_iterator(below)) {
      if (entry.is_directory() != (wanted == Wanted::directories)) continue;
      const std::string kind = kind_of(entry.path().lexically_relative(named_from));
      kinds[kind].push_back(entry.path());
    }
  };
  look(target.store, target.store);
  for (const char* place : kKeepingPlaces) look(target.round / place, target.round);
  if (kinds.empty()) return std::nullopt;
  auto& [kind, paths] = *std::next(kinds.begin(), static_cast<long>(random.below(kinds.size())));
  std::sort(paths.begin(), paths.end());
  return Entry{random.pick(paths), kind};
}

// Makes `path`, which is not there, something that it should not be, and says what.
std::string make_something(const Target& target, const Path& path, Random& random,
                           std::uintmax_t giant, Wanted instead_of) {
  const auto node = [&](mode_t kind, dev_t device) {
    if (mknod(path.c_str(), kind | 0666, device) != 0)
      throw std::system_error(errno, std::generic_category(), "mknod");
    (void)chmod(path.c_str(), 0666);
  };
  const auto device = [&](unsigned major, unsigned minor, const char* name) {
    if (geteuid() != 0) {
      node(S_IFIFO, 0);
      return std::string("a fifo");
    }
    node(S_IFCHR, makedev(major, minor));
    return std::string("the device ") + name;
  };
  switch (random.below(15)) {
    case 0:
      node(S_IFIFO, 0);
      return "a fifo";
    case 1:
      node(S_IFSOCK, 0);
      return "a socket";
    case 2:
      return device(1, 3, "null");
    case 3:
      return device(1, 5, "zero");
    case 4:
      return device(5, 0, "tty");
    case 5:
      return device(1, 7, "full");
    case 6:
      fs::create_symlink(target.outside.file, path);
      return "a link to a file outside";
    case 7:
      fs::create_symlink(target.outside.directory, path);
      return "a link to a directory outside";
    case 8:
      fs::create_symlink(path.parent_path() / "nowhere", path);
      return "a link to nothing";
    case 9:
      fs::create_symlink(path.filename(), path);
      return "a link to itself";
    case 10:
      fs::create_symlink("..", path);
      return "a link to the directory above";
    case 11:
      fs::create_hard_link(target.outside.file, path);
      return "a second name of a file outside";
    case 12:
      itest::write_text(path, "");
      fs::resize_file(path, giant);
      return "a file with a hole of " + std::to_string(giant >> 20) + " MiB";
    case 13:
      if (instead_of == Wanted::files) {
        fs::create_directory(path);
        return "a directory";
      }
      [[fallthrough]];
    default:
      itest::write_text(path, "");
      return "an empty file";
  }
}

std::string fill(Random& random, std::size_t count) {
  switch (random.below(3)) {
    case 0:
      return std::string(count, '\0');
    case 1:
      return std::string(count, '\xff');
    default:
      return random.bytes(count);
  }
}

// `bytes` with one thing done to them, and what that was.
std::string change_bytes(std::string& bytes, Random& random) {
  // Where there is something: most of a data.mdb is zeros that nobody reads.
  std::size_t at = random.below(bytes.size());
  for (int i = 0; i < 20 && !bytes.empty() && bytes[at] == '\0'; ++i)
    at = random.below(bytes.size());
  const std::size_t length = 1 + random.below(std::min<std::size_t>(bytes.size() - at, 4096));
  switch (bytes.empty() ? 4 : random.below(6)) {
    case 0: {
      const std::size_t count = 1 + random.below(8);
      bytes[at] ^= static_cast<char>(1U << random.below(8));
      for (std::size_t i = 1; i < count; ++i)
        bytes[random.below(bytes.size())] ^= static_cast<char>(1U << random.below(8));
      return fmt::format("{} bit(s) flipped", count);
    }
    case 1:
      bytes.replace(at, length, fill(random, length));
      return fmt::format("{} byte(s) overwritten at {}", length, at);
    case 2:
      bytes.resize(at);
      return fmt::format("cut at {}", at);
    case 3:
      bytes.insert(at, bytes.substr(at, length));
      return fmt::format("{} byte(s) at {} twice", length, at);
    case 4: {
      const std::size_t more = 1 + random.below(10000);
      bytes += fill(random, more);
      return fmt::format("{} byte(s) more at its end", more);
    }
    default:
      bytes.erase(at, length);
      return fmt::format("{} byte(s) at {} taken out", length, at);
  }
}

}  // namespace

void own(const Target& target, const Path& path) {
  if (target.user && lchown(path.c_str(), *target.user, *target.user) != 0)
    throw std::system_error(errno, std::generic_category(), "chown");
}

void put_file(const Target& target, const Path& file, std::string_view bytes) {
  itest::write_text(file, bytes);
  own(target, file);
}

std::string mutate_bytes(const Target& target, Random& random) {
  const std::optional<Entry> one = any_entry(target, Wanted::files, random);
  const std::optional<Entry> other = any_entry(target, Wanted::files, random);
  if (!one) return {};
  const auto is_data = [](const Entry& entry) { return entry.path.filename() == "data.mdb"; };
  if (!target.bytes_of_data_file && (is_data(*one) || is_data(*other))) return {};
  std::string bytes = read_text(one->path);
  const std::string others = read_text(other->path);
  switch (random.below(8)) {
    case 0:
      put_file(target, one->path, others);
      put_file(target, other->path, bytes);
      return one->text() + " and " + other->text() + ": exchanged";
    case 1:
      put_file(target, one->path, others);
      return one->text() + ": the bytes of " + other->text();
    case 2: {
      const std::size_t at = random.below(bytes.size());
      const std::size_t from = random.below(others.size());
      put_file(target, one->path, bytes.substr(0, at) + others.substr(from));
      return fmt::format("{}: from {} on those of {} from {} on", one->text(), at, other->text(),
                         from);
    }
    default: {
      const std::string change = change_bytes(bytes, random);
      put_file(target, one->path, bytes);
      return one->text() + ": " + change;
    }
  }
}

std::string replace_entry(const Target& target, Random& random) {
  const Wanted wanted = random.one_in(4) ? Wanted::directories : Wanted::files;
  const std::optional<Entry> entry = any_entry(target, wanted, random);
  if (!entry) return {};
  if (random.one_in(10)) {
    fs::permissions(entry->path, fs::perms(random.one_in(2) ? 0000 : 0444));
    return entry->text() + ": not to be read or not to be changed";
  }
  // A hole behind its bytes: what is at its beginning is right.
  if (wanted == Wanted::files && !is_output(entry->kind) && random.one_in(20)) {
    fs::resize_file(entry->path, kGiant);
    return entry->text() + ": 100 GiB long";
  }
  fs::remove_all(entry->path);
  if (random.one_in(8)) return entry->text() + ": absent";
  if (wanted == Wanted::directories && random.one_in(6)) {
    fs::create_directory(entry->path);
    own(target, entry->path);
    return entry->text() + ": emptied";
  }
  // Output of that size would be printed as it is asked for, which takes its time.
  const std::uintmax_t giant = is_output(entry->kind) ? std::uintmax_t{16} << 20 : kGiant;
  const std::string now = make_something(target, entry->path, random, giant, wanted);
  own(target, entry->path);
  return entry->text() + ": " + now;
}

std::string plant_entry(const Target& target, Random& random) {
  Path state;
  for (const auto& entry : fs::directory_iterator(target.store)) {
    if (entry.path().filename().string().starts_with("state-")) state = entry.path();
  }
  const std::string number = std::to_string(random.below(12));
  const std::vector<Path> names = {
      state / "beats" / number,
      state / "beats/shared-0",
      state / "quarantine",
      state / "retention-99999999999",
      state / "retention-18446744073709551615",
      state / "retention-x",
      state / fmt::format("journal/000000000000/{:012}", random.below(130)),
      state / "journal/000000000064",
      state / "journal/000000000128",
      state / "journal/999999999999",
      state / "journal/18446744073709551552",
      state / "journal/18446744073709551552/18446744073709551615",
      state / "snapshot/000000000999-00000000000000000000000000000000",
      state / "snapshot/18446744073709551615-00000000000000000000000000000000",
      state / "segment/000000000000-99999999999",
      state / "segment/000000000000-18446744073709551615",
      target.store / "quarantine",
      target.store / "gate-00000000-0000000000000000-0",
      target.store / "logs/jobs",
      target.store / "logs/jobs/000000" / (number + ".1.out"),
      target.store / "logs/jobs/000000" / (number + ".2.err"),
      target.store / "logs/jobs/packed" / (number + ".data"),
      target.store / "logs/jobs/packed" / (number + ".index"),
      target.store / "logs/jobs/series" / (number + ".index"),
      target.store / "logs/jobs/actions/1.1.log",
      target.store / "a \x1b[31mname\r\n of many\x07 colours"};
  const Path& path = random.pick(names);
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::not_found) return {};
  for (Path above = path.parent_path(); above != target.store; above = above.parent_path()) {
    if (fs::exists(fs::symlink_status(above))) continue;
    fs::create_directories(above);
    own(target, above);
  }
  const std::string now = make_something(target, path, random, kGiant, Wanted::files);
  own(target, path);
  return "new " + path.lexically_relative(target.store).string() + ": " + now;
}

const std::vector<MutationKind>& mutation_kinds() {
  static const std::vector<MutationKind> kAll = {
      {"bytes", mutate_bytes, 6},
      {"entry", replace_entry, 9},
      {"new-entry", plant_entry, 3},
      {"meta", forge_meta, 2},
      {"commit", forge_commit, 6},
      {"snapshot", forge_snapshot, 3},
      {"packed", forge_packed, 1, {"logs"}},
      {"record", forge_record, 4},
      {"segment", forge_segment, 2, {"verify", "repair", "status"}},
      {"heartbeat", forge_heartbeat, 2, {"status", "adopt", "worker", "why", "verify", "run"}},
      {"series", forge_series, 2, {"resources"}},
      {"gate", forge_gate, 2, {"status", "worker", "compact", "set"}},
      {"ledger", forge_ledger, 2, {"node", "worker", "run", "why"}},
      {"trusted", forge_trusted, 1, {"trust"}}};
  return kAll;
}

const MutationKind& any_kind(const std::string& name, Random& random) {
  std::vector<const MutationKind*> likely;
  for (const MutationKind& one : mutation_kinds()) {
    if (name.empty() || name == one.name) likely.insert(likely.end(), one.weight, &one);
  }
  return *random.pick(likely);
}

}  // namespace torc::mutation
