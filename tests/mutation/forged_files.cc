// What is well-formed and was never written by torc.
#include <fmt/format.h>
#include <lmdb.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "lib/exec/output/packed_format.h"
#include "lib/store/disk/hash.h"
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

const std::vector<std::string>& numbers() {
  static const std::vector<std::string> kAll = {"0",
                                                "-1",
                                                "1",
                                                "2",
                                                "2147483648",
                                                "4294967296",
                                                "31536000",
                                                "4611686018427387904",
                                                "9223372036854775807",
                                                "-9223372036854775808",
                                                "18446744073709551615",
                                                "18446744073709551616"};
  return kAll;
}

struct LastCommit {
  store::CommitFile file;
  Records records;  // all that commits wrote
};

std::optional<LastCommit> read_commits(const Path& journal, const store::StoreId& id) {
  std::map<std::uint64_t, Path> files;
  for (const auto& entry : fs::recursive_directory_iterator(journal)) {
    const auto number = store::number_of(entry.path().filename().string());
    if (entry.is_regular_file() && number) files[*number] = entry.path();
  }
  if (files.empty()) return std::nullopt;
  LastCommit out;
  for (const auto& [number, path] : files) {
    const auto file = store::decode_commit(id, number, read_text(path), path);
    if (!file.ok()) return std::nullopt;
    (void)store::replay(
        file->writes,
        [&](std::string_view key, std::string_view value) {
          out.records[std::string(key)] = value;
        },
        [](std::string_view) {});
    out.file = *file;
  }
  return out;
}

struct CloseEnvironment {
  void operator()(MDB_env* env) const { mdb_env_close(env); }
};

// The parts of a snapshot, see lib/store/format/snapshot.h.
constexpr std::size_t kHead = 60;
constexpr std::size_t kFoot = 32;

std::string compressed(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

// A frame that becomes `begin` and so many zeros: some hundred KiB for 8 GiB.
std::string bomb(const std::string& begin, std::uint64_t zeros) {
  const std::unique_ptr<ZSTD_CStream, std::size_t (*)(ZSTD_CStream*)> stream(ZSTD_createCStream(),
                                                                             ZSTD_freeCStream);
  std::string out;
  std::string piece(ZSTD_CStreamOutSize(), '\0');
  const auto add = [&](const std::string& bytes, ZSTD_EndDirective mode) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (bool more = true; more;) {
      ZSTD_outBuffer to{piece.data(), piece.size(), 0};
      const std::size_t left = ZSTD_compressStream2(stream.get(), &to, &in, mode);
      out.append(piece, 0, to.pos);
      more = mode == ZSTD_e_end ? left != 0 : in.pos < in.size;
    }
  };
  add(begin, ZSTD_e_continue);
  const std::string block(std::size_t{1} << 20, '\0');
  for (std::uint64_t i = 0; i < zeros >> 20; ++i) add(block, ZSTD_e_continue);
  add({}, ZSTD_e_end);
  return out;
}

}  // namespace

std::string forge_meta(const Target& target, Random& random) {
  const Path file = target.store / "META";
  std::string text = read_text(file);
  const std::size_t check = text.rfind("check: ");
  if (check == std::string::npos) return {};
  text.resize(check);
  // One line after the first: "name: value".
  std::vector<std::string> lines = itest::lines_of(text);
  std::string& line = lines[1 + random.below(lines.size() - 1)];
  const std::size_t colon = line.find(": ");
  std::string value = line.substr(colon + 2);
  std::string how;
  switch (random.below(6)) {
    case 0:
      value.clear();
      break;
    case 1:
      value = "\x1b]0;owned\x07\x1b[31m" + value;
      break;
    case 2:
      value = random.bytes(20);
      break;
    case 3:
      value = std::string(100'000, 'a');
      break;
    default: {
      // The first or the second number of the line.
      std::size_t from = value.find_first_of("-0123456789");
      if (random.one_in(2) && from != std::string::npos)
        from = std::min(value.find(' ', from), value.size() - 1) + 1;
      if (from == std::string::npos || from > value.size()) from = 0;
      const std::size_t to = std::min(value.find_first_not_of("-0123456789", from), value.size());
      value.replace(from, to - from, random.pick(numbers()));
    }
  }
  std::replace(value.begin(), value.end(), '\n', ' ');
  line.resize(colon + 2);
  line += value;
  text.clear();
  for (const std::string& one : lines) text += one + '\n';
  put_file(target, file, text + fmt::format("check: {:08x}\n", store::crc32c(text)));
  return "META with the line " + shown(line.substr(0, 80));
}

std::string forge_commit(const Target& target, Random& random) {
  const Path file = target.store / "META";
  const auto meta = store::decode_meta(read_text(file), file);
  if (!meta.ok() || meta->identity.engine != store::Engine::journal) return {};
  const Path journal = meta->identity.state_directory(target.store) / "journal";
  const std::optional<LastCommit> last = read_commits(journal, meta->identity.id);
  if (!last || last->records.empty()) return {};
  store::CommitHeader header;
  header.sequence = last->file.header.sequence + 1;
  header.before = last->file.after;
  header.author = random.one_in(8) ? random.any() : last->file.header.author;
  const std::string id = random.bytes(header.id.size());
  std::copy(id.begin(), id.end(), header.id.begin());
  store::WriteSet writes;
  const std::vector<ForgedWrite> forged = forge_writes(last->records, random);
  for (const ForgedWrite& write : forged) {
    if (write.value)
      writes.put(write.key, *write.value);
    else
      writes.erase(write.key);
  }
  std::string what = in_words(forged);
  std::string bytes = writes.bytes();
  if (random.one_in(12)) {
    bytes = random.one_in(2) ? random.bytes(300) : bytes.substr(0, random.below(bytes.size()));
    what = "a write set that is none";
  } else if (random.one_in(12)) {
    // All that a commit may become, of the largest values.
    store::WriteSet large;
    std::string key = random.pick(forged).key;
    what = shown(key) + " and those after it: the largest commit";
    for (std::size_t left = store::kMostWrites - 4096; left > 0;) {
      const std::size_t size = std::min(left, store::kMostValue);
      large.put(key, std::string(size, '\0'));
      ++key.back();
      left -= size;
    }
    bytes = large.bytes();
  }
  const Path directory = journal / store::number_name(store::first_of_directory(header.sequence));
  if (!fs::exists(directory)) {
    fs::create_directory(directory);
    fs::permissions(directory, fs::perms(0777));
  }
  put_file(target, directory / store::number_name(header.sequence),
           store::encode_commit(meta->identity.id, header, bytes));
  return fmt::format("commit {} with {}", header.sequence, what);
}

std::string forge_packed(const Target& target, Random& random) {
  const Path directory = exec::packed_directory(target.store / "logs/jobs");
  if (!fs::exists(directory)) return {};
  std::vector<Path> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (exec::worker_of_index(entry.path().filename().string())) files.push_back(entry.path());
  }
  if (files.empty()) return {};
  std::sort(files.begin(), files.end());
  const Path& file = random.pick(files);
  std::string bytes = read_text(file);
  const std::size_t count = bytes.size() / exec::kPackedRecordBytes;
  if (count == 0) return {};
  const std::size_t at = random.below(count) * exec::kPackedRecordBytes;
  auto record = exec::decode_packed(std::string_view(bytes).substr(at, exec::kPackedRecordBytes));
  if (!record) return {};
  const std::vector<std::uint64_t> places = {
      0, 1, UINT64_MAX, UINT64_MAX >> 1, std::uint64_t{1} << 40, random.any()};
  switch (random.below(4)) {
    case 0:
      record->place = random.pick(places);
      break;
    case 1:
      record->length = static_cast<std::uint32_t>(random.pick(places));
      break;
    case 2:
      record->key.job = random.pick(places);
      break;
    default:
      record->key.attempt = static_cast<std::uint32_t>(random.pick(places));
      break;
  }
  bytes.replace(at, exec::kPackedRecordBytes, exec::encode(*record));
  put_file(target, file, bytes);
  return fmt::format(
      "{} of packed output with a record of {} byte(s) from {} of attempt {} of job {}",
      file.filename().string(), record->length, record->place, record->key.attempt,
      record->key.job);
}

std::string forge_snapshot(const Target& target, Random& random) {
  const auto meta = store::decode_meta(read_text(target.store / "META"), target.store / "META");
  if (!meta.ok()) return {};
  const store::StoreId& id = meta->identity.id;
  const Path directory = meta->identity.state_directory(target.store) / "snapshot";
  std::vector<Path> files;
  if (fs::exists(directory)) {
    for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
  }
  if (files.empty()) return {};
  std::sort(files.begin(), files.end());
  const std::string bytes = read_text(files.back());
  if (bytes.size() < kHead + kFoot) return {};
  std::string entries(std::size_t{16} << 20, '\0');
  const std::size_t size = ZSTD_decompress(entries.data(), entries.size(), bytes.data() + kHead,
                                           bytes.size() - kHead - kFoot);
  if (ZSTD_isError(size) != 0) return {};
  entries.resize(size);
  Records records;
  for (Decoder in(entries); !in.rest().empty();) {
    const std::string key(in.text());
    records[key] = in.text();
    if (!in.ok()) return {};
  }
  std::uint64_t count = records.size();
  std::string frame;
  std::string what;
  if (random.one_in(4)) {
    constexpr std::uint64_t kZeros = std::uint64_t{8} << 30;
    // A value that never ends, or entries without a key.
    const bool value = random.one_in(2);
    entries = value ? Encoder().text("J").varint(kZeros).bytes() : std::string();
    frame = bomb(entries, kZeros);
    what = value ? "a value of 8 GiB" : "8 GiB of zeros";
  } else {
    const std::vector<ForgedWrite> forged = forge_writes(records, random);
    for (const ForgedWrite& write : forged) {
      records.erase(write.key);
      if (write.value) records[write.key] = *write.value;
    }
    Encoder out;
    for (const auto& [key, value] : records) out.text(key).text(value);
    entries = out.bytes();
    count = records.size();
    if (random.one_in(8)) count = random.any();
    frame = compressed(entries);
    what = in_words(forged);
  }
  const store::Hash128 hash = store::hash128(id, entries);
  const std::string foot = Encoder().be64(count).raw(store::as_text(hash)).bytes() + "torcEND1";
  put_file(target, files.back(), bytes.substr(0, kHead) + frame + foot);
  // The others would do as well.
  files.pop_back();
  for (const Path& older : files) fs::remove(older);
  return "snapshot with " + what;
}

std::string forge_record(const Target& target, Random& random) {
  if (!fs::exists(target.store / "data.mdb")) return {};
  MDB_env* made = nullptr;
  if (mdb_env_create(&made) != 0) return {};
  const std::unique_ptr<MDB_env, CloseEnvironment> env(made);
  mdb_env_set_mapsize(made, std::size_t{64} << 20);
  // Nobody else is there, and the lock table stays as it was.
  if (mdb_env_open(made, target.store.c_str(), MDB_NOLOCK | MDB_NOSYNC, 0644) != 0) return {};
  MDB_txn* txn = nullptr;
  MDB_dbi dbi = 0;
  if (mdb_txn_begin(made, nullptr, 0, &txn) != 0) return {};
  MDB_cursor* cursor = nullptr;
  if (mdb_dbi_open(txn, nullptr, 0, &dbi) != 0 || mdb_cursor_open(txn, dbi, &cursor) != 0) {
    mdb_txn_abort(txn);
    return {};
  }
  const auto text = [](const MDB_val& value) {
    return std::string(static_cast<const char*>(value.mv_data), value.mv_size);
  };
  const auto bytes = [](const std::string& of) {
    return MDB_val{of.size(), const_cast<char*>(of.data())};
  };
  Records records;
  MDB_val key;
  MDB_val value;
  while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) records[text(key)] = text(value);
  mdb_cursor_close(cursor);
  const std::vector<ForgedWrite> forged = forge_writes(records, random);
  for (const ForgedWrite& write : forged) {
    MDB_val written_key = bytes(write.key);
    if (!write.value) {
      (void)mdb_del(txn, dbi, &written_key, nullptr);
      continue;
    }
    MDB_val written = bytes(*write.value);
    (void)mdb_put(txn, dbi, &written_key, &written, 0);
  }
  if (mdb_txn_commit(txn) != 0) return {};
  return "data.mdb with " + in_words(forged);
}

}  // namespace torc::mutation
