// Commits in the middle of a history, as segments and files have them, that torc never made.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/store/engine/commit_file.h"
#include "lib/store/engine/meta.h"
#include "lib/store/format/journal.h"
#include "tests/integration/harness.h"
#include "tests/mutation/forgery.h"
#include "tests/mutation/mutation.h"

namespace torc::mutation {
namespace {

namespace fs = std::filesystem;
using itest::read_text;

struct History {
  std::map<std::uint64_t, std::string> commits;  // the bytes of each
  std::map<std::uint64_t, Path> files;           // of those that have one of their own
  std::vector<std::pair<store::SegmentName, Path>> segments;
  std::vector<std::pair<store::SnapshotName, Path>> snapshots;
};

void take_segment(History& history, const store::SegmentName& name, const Path& file) {
  history.segments.emplace_back(name, file);
  const std::string bytes = read_text(file);
  std::string_view rest = bytes;
  for (std::uint64_t n = std::max<std::uint64_t>(name.first, 1); n <= name.last(); ++n) {
    const auto length = store::commit_length(rest);
    if (!length || *length > rest.size()) return;
    history.commits.emplace(n, rest.substr(0, *length));
    rest.remove_prefix(*length);
  }
}

History read_history(const Path& state) {
  History out;
  for (const auto& entry : fs::recursive_directory_iterator(state)) {
    if (!entry.is_regular_file()) continue;
    const Path& path = entry.path();
    const std::string name = path.filename().string();
    if (const auto number = store::number_of(name)) {
      out.files[*number] = path;
      out.commits[*number] = read_text(path);
    } else if (const auto segment = store::segment_name_of(name)) {
      take_segment(out, *segment, path);
    } else if (const auto snapshot = store::snapshot_name_of(name)) {
      out.snapshots.emplace_back(*snapshot, path);
    }
  }
  std::sort(out.segments.begin(), out.segments.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  return out;
}

// Writes that come after those of the commit. In words; empty: there is nothing to forge.
std::string change_commit(const store::StoreId& id, std::uint64_t number, std::string& bytes,
                          Random& random) {
  const auto file = store::decode_commit(id, number, bytes, {});
  if (!file.ok()) return {};
  Records records;
  store::WriteSet writes;
  (void)store::replay(
      file->writes,
      [&](std::string_view key, std::string_view value) {
        records[std::string(key)] = value;
        writes.put(key, value);
      },
      [&](std::string_view key) { writes.erase(key); });
  const std::vector<ForgedWrite> forged = forge_writes(records, random);
  if (forged.empty()) return {};
  for (const ForgedWrite& write : forged) {
    if (write.value)
      writes.put(write.key, *write.value);
    else
      writes.erase(write.key);
  }
  bytes = store::encode_commit(id, file->header, writes.bytes());
  return in_words(forged);
}

// Every commit after `number` says again what was before it. false: one is no commit.
bool chain(const store::StoreId& id, std::uint64_t number, History& history) {
  auto at = history.commits.find(number);
  auto file = store::decode_commit(id, at->first, at->second, {});
  for (++at; file.ok() && at != history.commits.end(); ++at) {
    const store::Hash128 before = file->after;
    file = store::decode_commit(id, at->first, at->second, {});
    if (!file.ok()) return false;
    file->header.before = before;
    at->second = store::encode_commit(id, file->header, file->writes);
    file = store::decode_commit(id, at->first, at->second, {});
  }
  return file.ok();
}

void put_segment(const Target& target, const History& history, const store::SegmentName& name,
                 const Path& file) {
  std::string bytes;
  for (auto at = history.commits.lower_bound(name.first);
       at != history.commits.end() && at->first <= name.last(); ++at)
    bytes += at->second;
  put_file(target, file, bytes);
}

}  // namespace

std::string forge_segment(const Target& target, Random& random) {
  const Path meta_file = target.store / "META";
  const auto meta = store::decode_meta(read_text(meta_file), meta_file);
  if (!meta.ok() || meta->identity.engine != store::Engine::journal) return {};
  const store::StoreId& id = meta->identity.id;
  History history = read_history(meta->identity.state_directory(target.store));
  if (history.segments.empty()) return {};
  const store::SegmentName name = random.pick(history.segments).first;
  const std::uint64_t number = name.first + random.below(name.count);
  if (!history.commits.contains(number)) return {};
  const std::string what = change_commit(id, number, history.commits[number], random);
  if (what.empty() || !chain(id, number, history)) return {};
  for (const auto& [segment, file] : history.segments) {
    if (segment.last() >= number) put_segment(target, history, segment, file);
  }
  std::string also = "in segments alone";
  if (!random.one_in(3)) {
    also = "in its file and segments";
    for (const auto& [of, file] : history.files) {
      if (of >= number) put_file(target, file, history.commits[of]);
    }
  } else if (random.one_in(2)) {
    also = "in segments, and no file has it";
    for (const auto& [of, file] : history.files) {
      if (of <= name.last()) fs::remove(file);
    }
  }
  if (random.one_in(2)) {
    also += ", no snapshot covers it";
    for (const auto& [snapshot, file] : history.snapshots) {
      if (snapshot.sequence >= number) fs::remove(file);
    }
  }
  return fmt::format("commit {}, {}, with {}", number, also, what);
}

}  // namespace torc::mutation
