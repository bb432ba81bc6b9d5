#include "lib/store/journal/survey.h"

#include <algorithm>

namespace torc::store {
namespace {

constexpr std::chrono::nanoseconds kFirstDoubt = std::chrono::seconds(1);

}  // namespace

Extent Survey::extent_of(const std::vector<std::uint64_t>& numbers, const Head& head) const {
  Extent out;
  out.directory = true;
  out.highest = numbers.empty() ? 0 : numbers.back();
  const std::uint64_t newest = head.sequence;
  const std::uint64_t first = first_of_directory(newest + 1);
  out.shows_head = newest < first || std::binary_search(numbers.begin(), numbers.end(), newest);
  // A missing newest one is another matter, see shows_head.
  if (newest > 0) {
    out.hole =
        first_missing(numbers, std::max(first, snapshots_.newest().sequence + 1), newest - 1);
  }
  return out;
}

// The numbers in the directory of `next`: what its listing shows and, where listings lag, or
// somebody says that there is more, what follows and can be opened all the same. Of a directory
// that changed again within the tick of the server's clock in which it was listed, NFS version 3
// shows the old listing until it changes once more; who looks because of a bell looks that soon. A
// name that is asked for the first time the server is asked for.
Result<std::vector<std::uint64_t>> Survey::numbers_beside(std::uint64_t next) {
  TORC_ASSIGN(std::vector<std::uint64_t> numbers, journal_.numbers_beside(next));
  const std::uint64_t until = location_.learning() == Learning::listing ? expected_ : UINT64_MAX;
  const std::uint64_t last = std::min(until, first_of_directory(next) + kPerDirectory - 1);
  const std::uint64_t listed = numbers.empty() ? 0 : numbers.back();
  for (std::uint64_t n = std::max(listed + 1, next); n <= last; ++n) {
    TORC_ASSIGN(const bool there, journal_.is_there(n));
    if (!there) break;
    numbers.push_back(n);
  }
  return numbers;
}

// Whether its listing may be one that hides what came since: it is what the last was.
bool Survey::is_doubtful(const std::vector<std::uint64_t>& numbers) {
  if (!location_.listings_may_hide()) return false;
  const std::uint64_t newest = numbers.empty() ? 0 : numbers.back();
  const BootTime now = clock_.boot_now();
  if (newest != newest_listed_) {
    newest_listed_ = newest;
    news_at_ = now;
    doubt_ = kFirstDoubt;
    return false;
  }
  if (now - news_at_ < doubt_) return false;
  doubt_ = 2 * (now - news_at_);
  return true;
}

Result<Extent> Survey::beside(const Head& head) {
  const std::uint64_t next = head.sequence + 1;
  TORC_ASSIGN(std::vector<std::uint64_t> numbers, numbers_beside(next));
  if (is_doubtful(numbers) && journal_.refresh(journal_.directory_of(next))) {
    TORC_ASSIGN(numbers, numbers_beside(next));
  }
  return extent_of(numbers, head);
}

Result<Extent> Survey::beyond(const Head& head) {
  const std::uint64_t next = head.sequence + 1;
  Extent out;
  const Result<Extent> shown = beside(head);
  if (!shown.ok() && shown.error().kind != ErrorKind::not_found) return shown.error();
  if (shown.ok()) out = *shown;
  // Whoever was told that a number is taken needs no listing to know.
  if (taken_ >= next) out.highest = std::max(out.highest, taken_);
  const std::uint64_t last = first_of_directory(next) + kPerDirectory - 1;
  if (shown.ok() && out.highest < last) return out;
  // There may be more than this directory: the newest one tells.
  const Result<std::vector<std::uint64_t>> directories = journal_.directories();
  if (!directories.ok()) {
    if (directories.error().kind == ErrorKind::not_found) return out;
    return directories.error();
  }
  if (directories->empty() || directories->back() <= last) return out;
  const std::uint64_t newest = directories->back();
  Result<std::vector<std::uint64_t>> inside = journal_.numbers_beside(newest);
  // It is made before the last commit of the one before it gets its name: while it is empty, its
  // author may be about to do that, or have died.
  if (inside.ok() && inside->empty()) inside = journal_.numbers_beside(newest - 1);
  if (!inside.ok() && inside.error().kind != ErrorKind::not_found) return inside.error();
  const std::uint64_t highest = !inside.ok() ? newest - 1 : inside->empty() ? 0 : inside->back();
  out.highest = std::max(out.highest, highest);
  return out;
}

bool Survey::refresh(std::uint64_t missing) {
  bool done = journal_.refresh(journal_.snapshot_directory());
  done = journal_.refresh(journal_.journal_directory()) && done;
  if (missing > 0) (void)journal_.refresh(journal_.directory_of(missing));
  return done || location_.listings_are_current();
}

}  // namespace torc::store
