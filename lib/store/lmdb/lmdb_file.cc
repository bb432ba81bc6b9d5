#include "lib/store/lmdb/lmdb_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/file/beneath.h"
#include "lib/store/engine/commit_file.h"
#include "lib/store/lmdb/lmdb_page.h"

namespace torc::store {
namespace {

static_assert(std::endian::native == std::endian::little && sizeof(std::size_t) == 8);

constexpr std::uint32_t kMagic = 0xBEEFC0DE;
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeader = kLmdbPageHeader;
constexpr std::size_t kHeadBytes = kHeader + 136;
constexpr std::uint32_t kSmallestPage = 512;
constexpr std::uint32_t kLargestPage = 1U << 15U;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr std::uint16_t kIntegerKeys = 0x08;  // MDB_INTEGERKEY
constexpr std::uint16_t kDeepest = 32;        // CURSOR_STACK
// 4 TiB at the usual size. What is kept of a file by page is bounded by it.
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 30U;
constexpr int kTries = 5;

LmdbTree tree_at(std::string_view bytes, std::size_t at) {
  return {lmdb_word<std::uint16_t>(bytes, at + 4), lmdb_word<std::uint16_t>(bytes, at + 6),
          lmdb_word<std::uint64_t>(bytes, at + 32), lmdb_word<std::uint64_t>(bytes, at + 40)};
}

// What is wrong with the head itself; nullptr: nothing.
const char* decode_head(std::string_view bytes, LmdbHead& out) {
  constexpr std::size_t kTree = 48;
  constexpr std::size_t kTrees = kHeader + 24;
  if (!is_lmdb_page(bytes, LmdbPageKind::head)) return "is not a head of an LMDB file";
  if (lmdb_word<std::uint32_t>(bytes, kHeader) != kMagic) return "is not a head of an LMDB file";
  if (lmdb_word<std::uint32_t>(bytes, kHeader + 4) != kVersion)
    return "is of another version of LMDB";
  out.page_size = lmdb_word<std::uint32_t>(bytes, kTrees);
  out.free = tree_at(bytes, kTrees);
  out.main = tree_at(bytes, kTrees + kTree);
  out.last_page = lmdb_word<std::uint64_t>(bytes, kTrees + 2 * kTree);
  out.transaction = lmdb_word<std::uint64_t>(bytes, kTrees + 2 * kTree + 8);
  if (!std::has_single_bit(out.page_size) || out.page_size < kSmallestPage ||
      out.page_size > kLargestPage)
    return "has an impossible size of pages";
  // Any other flag would have LMDB map the file at an address of its head, or compare otherwise.
  if (out.free.flags != kIntegerKeys || out.main.flags != 0)
    return "has flags that torc never sets";
  if (out.last_page < 1 || out.last_page > kMostPages) return "has an impossible number of pages";
  for (const LmdbTree& tree : {out.free, out.main}) {
    const bool none = tree.root == kNoPage;
    if (none != (tree.depth == 0) || tree.depth > kDeepest ||
        (!none && (tree.root < 2 || tree.root > out.last_page)))
      return "names an impossible page";
  }
  return nullptr;
}

}  // namespace

Error LmdbFile::damaged(const std::string& what) const {
  return {ErrorKind::corrupt, file_.string() + ": " + what,
          "keep a copy of the store directory before anything else; `torc repair` says whether the "
          "state before it is whole, and with --salvage gives back what can be read"};
}

Result<LmdbFile> LmdbFile::open(const Path& directory, Heads needed) {
  TORC_ASSIGN(Descriptor fd, beneath::open_file(directory, "data.mdb", O_RDONLY));
  LmdbFile out(std::move(fd), directory / "data.mdb", needed);
  struct stat about {};
  if (::fstat(out.fd_.get(), &about) != 0)
    return os_error(errno, "cannot look at " + out.file_.string());
  // LMDB makes an empty one into its own.
  if (about.st_size == 0) return os_error(ENOENT, out.file_.string() + " is empty");
  TORC_ASSIGN(out.heads_, out.read_heads());
  // After the heads: what they name was written before them.
  if (::fstat(out.fd_.get(), &about) != 0)
    return os_error(errno, "cannot look at " + out.file_.string());
  out.size_ = static_cast<std::uint64_t>(about.st_size);
  return out;
}

// A head that is written at this moment may be read in part: it is read again.
Result<std::array<LmdbHead, 2>> LmdbFile::read_heads() const {
  std::array<LmdbHead, 2> heads;
  std::string what;
  for (int tries = 0; tries < kTries; ++tries) {
    what.clear();
    off_t at = 0;
    for (std::size_t i = 0; i < heads.size() && what.empty(); ++i) {
      std::string bytes(kHeadBytes, '\0');
      const ssize_t n = ::pread(fd_.get(), bytes.data(), bytes.size(), at);
      if (n < 0) return os_error(errno, "cannot read " + file_.string());
      const char* wrong =
          n < static_cast<ssize_t>(kHeadBytes) ? "is cut off" : decode_head(bytes, heads[i]);
      if (wrong == nullptr && i > 0 && heads[i].page_size != heads[0].page_size)
        wrong = "has another size of pages than page 0";
      if (wrong != nullptr) what = "page " + std::to_string(i) + " " + wrong;
      at = static_cast<off_t>(heads[0].page_size);
    }
    if (what.empty()) return heads;
  }
  if (needed_ == Heads::both) return damaged(what);
  TORC_ASSIGN(const std::optional<LmdbHead> left, read_one_head());
  if (!left) return damaged(what);
  return std::array<LmdbHead, 2>{*left, *left};
}

// The second one is where the first page ends, of which only the first one tells the size: the one
// that is found says itself that it belongs there.
Result<std::optional<LmdbHead>> LmdbFile::read_one_head() const {
  for (std::uint32_t size = 0; size <= kLargestPage; size = std::max(2 * size, kSmallestPage)) {
    std::string bytes(kHeadBytes, '\0');
    const ssize_t n = ::pread(fd_.get(), bytes.data(), bytes.size(), size);
    if (n < 0) return os_error(errno, "cannot read " + file_.string());
    LmdbHead head;
    if (n < static_cast<ssize_t>(kHeadBytes) || decode_head(bytes, head) != nullptr) continue;
    if (lmdb_page_number(bytes) != (size == 0 ? 0 : 1)) continue;
    if (size == 0 || head.page_size == size) return std::optional(head);
  }
  return std::optional<LmdbHead>();
}

Result<std::string> LmdbFile::read(std::uint64_t page, std::size_t bytes) const {
  const std::uint32_t page_size = newest().page_size;
  std::string out(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const auto at = static_cast<off_t>((page * page_size) + done);
    const ssize_t n = ::pread(fd_.get(), out.data() + done, bytes - done, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(errno, "cannot read " + file_.string());
    if (n == 0)
      return damaged("page " + std::to_string(page) + " is cut off by the end of the file");
    done += static_cast<std::size_t>(n);
  }
  return out;
}

std::uint64_t LmdbFile::pages() const {
  const std::uint64_t page_size = newest().page_size;
  const std::uint64_t there = (size_ + page_size - 1) / page_size;
  // What lies behind both states is of neither.
  return std::min(there, std::max(heads_[0].last_page, heads_[1].last_page) + 1);
}

const LmdbHead& LmdbFile::newest() const {
  return heads_[heads_[1].transaction > heads_[0].transaction ? 1 : 0];
}

const LmdbHead& LmdbFile::older() const {
  return heads_[heads_[1].transaction > heads_[0].transaction ? 0 : 1];
}

bool LmdbFile::is_short() const {
  return size_ / newest().page_size <= newest().last_page;
}

Result<bool> LmdbFile::has_moved_on() const {
  TORC_ASSIGN(const auto now, read_heads());
  return std::max(now[0].transaction, now[1].transaction) != newest().transaction;
}

// One walk over the trees of a state.
class LmdbWalk {
 public:
  LmdbWalk(const LmdbFile& file, const LmdbHead& head)
      : file_(file),
        head_(head),
        seen_(std::max(file.pages(), std::min(head.last_page + 1, file.pages() + kMostUnwritten))) {
  }

  Result<void> check() {
    if (head_.last_page >= (file_.size_ / head_.page_size) + kMostUnwritten)
      return file_.damaged("it is shorter than its " + std::to_string(head_.last_page + 1) +
                           " pages");
    TORC_TRY(walk(head_.main, Tree::main));
    return walk(head_.free, Tree::free);
  }

  // The pages that are free, and those of the list of them.
  Result<std::vector<bool>> unused() {
    TORC_TRY(walk(head_.free, Tree::free));
    seen_.resize(file_.pages());
    return std::move(seen_);
  }

 private:
  enum class Tree : std::uint8_t { main, free };
  // Pages at the end that a transaction took and gave back are never written.
  static constexpr std::uint64_t kMostUnwritten = 1U << 20U;

  [[nodiscard]] Error wrong(std::uint64_t page, const std::string& what) const {
    return file_.damaged("page " + std::to_string(page) + " " + what);
  }

  Result<void> walk(const LmdbTree& tree, Tree which) {
    last_.reset();
    entries_ = 0;
    if (tree.depth > 0) TORC_TRY(visit(tree.root, tree.depth, which));
    if (entries_ == tree.entries) return {};
    return file_.damaged("it has " + std::to_string(entries_) + " entries, and says " +
                         std::to_string(tree.entries));
  }

  Result<void> claim_page(std::uint64_t page) {
    if (page < 2 || page > head_.last_page) return wrong(page, "is named, and cannot be");
    if (page >= file_.pages()) return wrong(page, "lies beyond the end of the file");
    if (seen_[page]) return wrong(page, "is used twice");
    seen_[page] = true;
    return {};
  }

  Result<void> visit(std::uint64_t page, std::uint16_t levels, Tree which) {
    TORC_TRY(claim_page(page));
    TORC_ASSIGN(const std::string bytes, file_.read(page, head_.page_size));
    const bool branch = levels > 1;
    const LmdbPageKind kind = branch ? LmdbPageKind::branch : LmdbPageKind::leaf;
    std::vector<LmdbNode> nodes;
    const char* bad = read_lmdb_page(bytes, page, kind, nodes);
    if (bad != nullptr) return wrong(page, bad);
    if (!is_packed_lmdb_page(bytes, kind, nodes))
      return wrong(page, "has room between its entries");
    if (nodes.size() < (branch && which == Tree::main ? 2 : 1))
      return wrong(page, "has too few entries");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      // The first key of a branch is never looked at.
      if (!branch || i > 0)
        TORC_TRY(follows(page, nodes[i].key, which, branch ? Bound::at_least : Bound::more));
      TORC_TRY(branch ? visit(nodes[i].child, static_cast<std::uint16_t>(levels - 1), which)
                      : entry(page, nodes[i], which));
    }
    return {};
  }

  // A key of a branch may be the first key of the page that it leads to.
  enum class Bound : std::uint8_t { at_least, more };
  Result<void> follows(std::uint64_t page, std::string_view key, Tree which, Bound bound) {
    if (which == Tree::free && key.size() != sizeof(std::uint64_t))
      return wrong(page, "has a key of another size");
    if (key.empty()) return wrong(page, "has an empty key");
    if (last_) {
      const bool number = which == Tree::free;
      const bool less = number
                            ? lmdb_word<std::uint64_t>(*last_, 0) < lmdb_word<std::uint64_t>(key, 0)
                            : *last_ < key;
      // After a key of a branch comes the same one on a page below it.
      if (!less && !(bound_ && *last_ == key)) return wrong(page, "has its keys out of order");
    }
    last_ = key;
    bound_ = bound == Bound::at_least;
    return {};
  }

  Result<void> entry(std::uint64_t page, const LmdbNode& node, Tree which) {
    ++entries_;
    if (node.overflow == 0) return value_of(page, node.value, which);
    const std::uint64_t first = node.overflow;
    TORC_TRY(claim_page(first));
    TORC_ASSIGN(const std::string header, file_.read(first, kHeader));
    const std::uint64_t pages = lmdb_overflow_pages(header, first, node.size, head_.page_size);
    if (pages == 0 || pages > head_.last_page)
      return wrong(first, "is not the long value that it should be");
    for (std::uint64_t i = 1; i < pages; ++i) TORC_TRY(claim_page(first + i));
    if (node.size > kMostValue) return wrong(first, "holds a value that is too large");
    if ((first * head_.page_size) + kHeader + node.size > file_.size_)
      return wrong(first, "is cut off by the end of the file");
    if (which == Tree::main) return {};
    TORC_ASSIGN(const std::string value, file_.read(first, kHeader + node.size));
    return value_of(first, std::string_view(value).substr(kHeader), which);
  }

  Result<void> value_of(std::uint64_t page, std::string_view value, Tree which) {
    if (which == Tree::main) return {};
    // A list of free pages: their count, then themselves, the largest first.
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    if (value.size() < kWord) return wrong(page, "has no list of free pages");
    const auto count = lmdb_word<std::uint64_t>(value, 0);
    if (count > (value.size() / kWord) - 1) return wrong(page, "has a list of free pages cut off");
    std::uint64_t before = kNoPage;
    for (std::uint64_t i = 1; i <= count; ++i) {
      const auto free = lmdb_word<std::uint64_t>(value, i * kWord);
      if (free >= before) return wrong(page, "has free pages out of order");
      if (free < 2 || free > head_.last_page) return wrong(page, "frees a page that cannot be");
      // Also beyond the end of the file: LMDB gives out a page as often as it is listed, and ends
      // the process by an assertion when it has one twice.
      if (free < seen_.size()) {
        if (seen_[free]) return wrong(free, "is used and free, or free twice");
        seen_[free] = true;
      }
      before = free;
    }
    return {};
  }

  const LmdbFile& file_;
  const LmdbHead& head_;
  std::vector<bool> seen_;  // of the file, and of those that are not written yet
  std::optional<std::string> last_;
  bool bound_ = false;
  std::uint64_t entries_ = 0;
};

Result<void> LmdbFile::check(const LmdbHead& head) const {
  return LmdbWalk(*this, head).check();
}

Result<std::vector<bool>> LmdbFile::unused_pages(const LmdbHead& head) const {
  return LmdbWalk(*this, head).unused();
}

Result<void> check_lmdb_head(const Path& directory) {
  for (int tries = 0;; ++tries) {
    const Result<LmdbFile> file = LmdbFile::open(directory);
    if (!file.ok() && file.error().kind == ErrorKind::not_found) return {};
    if (!file.ok()) return file.error();
    if (!file->is_short()) return {};
    Result<void> whole = file->check(file->newest());
    if (whole.ok()) return {};
    TORC_ASSIGN(const bool moved, file->has_moved_on());
    if (!moved) return whole;
    // Others commit to it all the time, so they could open it.
    if (tries >= kTries) return {};
  }
}

}  // namespace torc::store
