// The directory of this user in one that is everybody's, as /dev/shm and /tmp are: `torc-<uid>`,
// which all processes of a user find by its name. Whoever makes a directory, file or link of that
// name first keeps them from it for good. Then it is `torc-<uid>-XXXXXX`, a random name that nobody
// can make beforehand, and that all find by looking for the directories that are theirs: nobody can
// make one that belongs to another user. So nothing has to be told from process to process.
//
// Which one it is, in this order: the fixed name, if it is ours; of the others that are ours, the
// first by name; the fixed name, if nobody has it; a new random one. Ours is a directory, no link,
// of this user and closed to others. The order has no memory, so two processes that come at the
// same moment, or between which somebody takes or gives up the fixed name, may go different ways:
// whoever has to meet the others asks again from time to time, and all come to the same answer.
//
// At most kMostNames names are looked through. Who makes more of them in a directory, and has the
// fixed name too, keeps others from it, as he could by filling its disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/base/file/descriptor.h"
#include "lib/base/path.h"
#include "lib/base/result.h"

namespace torc::user_directory {

inline constexpr std::size_t kMostNames = 1'000'000;

struct Found {
  Descriptor directory;  // to list it and to look up names in it
  std::string name;
};

enum class Missing : std::uint8_t { make, fail };
// Those that only we may enter, which are used, or all of ours: others may have opened one since.
enum class Modes : std::uint8_t { closed, any };

// `root` is open, O_PATH is enough, as the directory `shown`. Errors: not_found (there is none, and
// none was to be made), permission (the fixed name is taken, and no other could be looked for).
// What is found may be removed at any moment, by whoever made it at the same time as another.
Result<Found> open(int root, const Path& shown, std::uint32_t uid, Missing missing,
                   std::size_t most_names = kMostNames);
// The one that is called `name`. Error permission: it is not ours.
Result<Found> open_named(int root, const Path& shown, const std::string& name, std::uint32_t uid);
[[nodiscard]] std::string fixed_name(std::uint32_t uid);
// The random ones that are ours, sorted: more than one for moments only. Whoever looks for what
// may have been left looks in all, and in the fixed one. Error permission without a number of the
// system: there are too many names.
Result<std::vector<std::string>> random_names(int root, const Path& shown, std::uint32_t uid,
                                              Modes modes, std::size_t most_names = kMostNames);

}  // namespace torc::user_directory
