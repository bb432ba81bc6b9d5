#include "lib/store/journal/location.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace torc::store {

Location::Location(const World& world, Path directory, const Meta& meta,
                   std::optional<std::chrono::nanoseconds> told)
    : world_(world),
      directory_(std::move(directory)),
      identity_(meta.identity),
      state_(identity_.state_directory(directory_)),
      told_(told),
      place_(meta.place),
      mount_changes_(meta.place.mount_changes),
      copied_(meta.is_copy()),
      least_retention_(meta.retention),
      retention_(std::max<std::chrono::nanoseconds>(meta.retention, meta.place.facts.retention)) {}

// Nothing is made, removed or concluded in the directory before it is known to be the store; and
// what the mount does is asked for again.
Result<std::optional<Location::Look>> Location::look() const {
  const std::uint64_t changes = world_.disk.mount_changes();
  if (changes == mount_changes_) return std::optional<Look>();
  TORC_TRY(check_still_there());
  TORC_ASSIGN(Meta meta, read_meta(world_, directory_));
  if (!meta.place.is_there) {
    return Error{ErrorKind::io, state_.string() + " is not there now", "is the filesystem mounted?",
                 ENOENT};
  }
  return std::optional<Look>(Look{std::move(meta), changes});
}

Result<void> Location::accept(const Look& look) {
  const Meta& meta = look.meta;
  place_ = meta.place;
  copied_ = meta.is_copy();
  retention_ =
      std::max({retention_, std::chrono::nanoseconds(meta.retention), place_.facts.retention});
  if (!told_) TORC_TRY(ask_for_retention(world_, directory_, meta));
  mount_changes_ = look.mount_changes;
  return {};
}

Result<void> Location::check_still_there() const {
  return store::check_still_there(world_, directory_, identity_, place_);
}

Result<void> Location::adopt_if_copied() {
  if (!copied_) return {};
  TORC_TRY(adopt_copy(world_, directory_, identity_));
  copied_ = false;
  return {};
}

Result<void> Location::read_retention() {
  if (told_) return {};
  TORC_ASSIGN(const std::chrono::seconds agreed,
              agreed_retention(world_.disk, state_, least_retention_));
  retention_ = std::max({retention_, std::chrono::nanoseconds(agreed), place_.facts.retention});
  return {};
}

Error Location::lagging() const {
  return {ErrorKind::busy,
          directory_.string() + ": its listings do not show yet what is there already",
          "try again in a minute; if this is still reported, `torc repair` says what is missing"};
}

}  // namespace torc::store
