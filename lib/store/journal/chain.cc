#include "lib/store/journal/chain.h"

#include "lib/store/engine/engines.h"
#include "lib/store/format/journal.h"

namespace torc::store {

Result<ChainExtent> read_chain(
    const World& world, const Path& directory,
    const std::function<Result<void>(std::uint64_t, std::uint64_t, std::string_view)>& visit) {
  TORC_ASSIGN(const Meta meta, read_meta(world, directory));
  ChainExtent out;
  if (meta.identity.engine != Engine::journal) return out;
  Journal journal(world.disk, directory, meta.identity.id,
                  Publisher(world.disk, world.entropy, meta.publish, Durable::no));
  TORC_ASSIGN(const std::vector<std::uint64_t> directories, journal.directories());
  for (const std::uint64_t first : directories) {
    const Result<std::vector<std::uint64_t>> numbers = journal.numbers_in(first);
    if (!numbers.ok()) {
      if (numbers.error().kind == ErrorKind::not_found) continue;  // collected
      return numbers.error();
    }
    for (const std::uint64_t number : *numbers) {
      const Result<CommitFile> file = journal.read(number);
      if (!file.ok() && file.error().kind == ErrorKind::not_found) continue;
      if (!file.ok() && file.error().kind != ErrorKind::corrupt) return file.error();
      if (out.first == 0) out.first = number;
      out.without_gap = out.without_gap && (out.last == 0 || number == out.last + 1);
      out.last = number;
      if (file.ok()) {
        TORC_TRY(visit(number, file->header.author, file->writes));
      } else {
        out.unreadable.push_back(journal.commit_path(number));
      }
    }
  }
  return out;
}

}  // namespace torc::store
