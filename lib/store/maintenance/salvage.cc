#include "lib/store/maintenance/salvage.h"

#include <utility>

#include "lib/store/disk/disk.h"
#include "lib/store/engine/engines.h"
#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/maintenance/backup.h"

namespace torc::store {
namespace {

constexpr int kSalvageLooks = 10;
constexpr std::size_t kMostAtATime = std::size_t{16} << 20;  // bytes of values, and one value more

std::uint64_t sequence_in(const LmdbRemains& remains) {
  const auto at = remains.entries.find(kHeadKey);
  const auto head = at == remains.entries.end() ? std::nullopt : decode_head(at->second);
  return head ? head->sequence : 0;
}

Result<Salvaged> look(const LmdbFile& file) {
  const bool both = file.newest().transaction != file.older().transaction;
  Salvaged out;
  out.which = both ? Salvaged::Which::newest : Salvaged::Which::only;
  TORC_ASSIGN(out.remains, remains_of(file, file.newest()));
  out.sequence = sequence_in(out.remains);
  if (out.is_whole() || !both) return out;
  out = {};  // never two states at a time
  out.which = Salvaged::Which::before;
  TORC_ASSIGN(out.remains, remains_of(file, file.older()));
  out.sequence = sequence_in(out.remains);
  if (out.is_whole()) return out;
  out = {};
  TORC_ASSIGN(out.remains, remains_of(file, file.newest()));
  out.sequence = sequence_in(out.remains);
  return out;
}

}  // namespace

Result<Salvaged> salvage(const World& world, const Path& directory) {
  TORC_ASSIGN(const Meta meta, read_meta(world, directory));
  if (meta.identity.engine != Engine::lmdb) {
    return Error{ErrorKind::unsupported, directory.string() + " has engine journal",
                 "`torc repair` without --salvage goes on from its last good commit"};
  }
  for (int tries = 0; tries < kSalvageLooks; ++tries) {
    TORC_ASSIGN(const LmdbFile file, LmdbFile::open(directory, LmdbFile::Heads::one));
    Result<Salvaged> out = look(file);
    TORC_ASSIGN(const bool moved, file.has_moved_on());
    if (!moved) return out;
  }
  return Error{ErrorKind::busy,
               "workers go on in " + directory.string() + ": it changed while it was looked at",
               "end the workers and start again"};
}

Result<void> write_entries(const Path& directory, const LmdbEntries& entries) {
  TORC_ASSIGN(const auto environment, Environment::open(directory, Durable::yes));
  for (auto first = entries.begin(); first != entries.end();) {
    TORC_ASSIGN(Txn txn, Txn::begin(environment, Access::write));
    int rc = 0;
    std::size_t bytes = 0;
    auto at = first;
    for (; rc == 0 && bytes < kMostAtATime && at != entries.end(); ++at) {
      rc = put_entry(txn, at->first, at->second);
      bytes += at->second.size();
    }
    if (rc == 0) {
      TORC_TRY(txn.commit());
      first = at;
      continue;
    }
    txn.abort();
    if (rc != MDB_MAP_FULL)
      return lmdb_error(rc, "cannot write " + (directory / "data.mdb").string());
    TORC_TRY(environment->grow());
  }
  return {};
}

Result<void> write_salvaged(const World& world, const Path& source, const Path& target,
                            const Salvaged& salvaged) {
  return make_aside(world, target, [&](const Path& aside) -> Result<void> {
    TORC_TRY(Store::create(world, aside, Engine::lmdb, Tuning{},
                           [](Transaction&) { return Result<void>(); }));
    TORC_TRY(copy_callers_files(world.disk, source, aside));
    return write_entries(aside, salvaged.remains.entries);
  });
}

}  // namespace torc::store
