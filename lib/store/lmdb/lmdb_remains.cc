#include "lib/store/lmdb/lmdb_remains.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/store/engine/commit_file.h"
#include "lib/store/lmdb/lmdb_page.h"

namespace torc::store {
namespace {

// Bytes of what was before: more says less, and may be forged.
constexpr std::uint64_t kMostOlder = std::uint64_t{64} << 20U;

// The first key after `key`.
std::string behind(std::string_view key) {
  return std::string(key) + '\0';
}

struct Page {
  std::string bytes;
  std::vector<LmdbNode> nodes;  // into bytes
};

// A leaf that will be read again: a file may have more of them than memory.
struct Leaf {
  std::uint64_t page = 0;
  std::string first;  // key
  std::string last;
};

bool in_order(const std::vector<LmdbNode>& nodes, std::size_t from) {
  for (std::size_t i = from; i < nodes.size(); ++i) {
    if (nodes[i].key.empty() || (i > from && nodes[i - 1].key >= nodes[i].key)) return false;
  }
  return true;
}

class Collector {
 public:
  Collector(const LmdbFile& file, const LmdbHead& head)
      : file_(file), head_(head), seen_(file.pages(), false), counted_(seen_) {
    out_.expected = head.main.entries;
  }

  Result<LmdbRemains> run() {
    TORC_TRY(walk());
    TORC_TRY(learn_used_pages());
    if (!out_.lost.empty()) TORC_TRY(find_leaves());
    // Then whatever is damaged held none.
    if (out_.entries.size() == out_.expected) out_.lost.clear();
    if (!out_.lost.empty()) TORC_TRY(tell_older());
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool in_file(std::uint64_t page) const { return page >= 2 && page < seen_.size(); }

  void lose_page(std::uint64_t page) {
    if (in_file(page) && counted_[page]) return;
    ++out_.lost_pages;
    if (in_file(page)) counted_[page] = true;
  }

  // --- from the root ---

  Result<void> walk() {
    if (head_.main.depth == 0) return {};
    return visit(head_.main.root, head_.main.depth, {});
  }

  Result<void> visit(std::uint64_t page, std::uint16_t levels, const KeyRange& bounds) {
    Page at;
    TORC_ASSIGN(const bool whole,
                read_whole(page, levels > 1 ? LmdbPageKind::branch : LmdbPageKind::leaf, at));
    const std::size_t first = levels > 1 ? 1 : 0;  // the first key of a branch is never looked at
    const bool fits =
        whole && in_order(at.nodes, first) &&
        std::all_of(at.nodes.begin() + static_cast<std::ptrdiff_t>(first), at.nodes.end(),
                    [&](const LmdbNode& n) { return bounds.contains(n.key); });
    if (!fits) {
      lose_page(page);
      out_.lost.push_back(bounds);
      return {};
    }
    seen_[page] = true;
    if (levels == 1) return take(at);
    for (std::size_t i = 0; i < at.nodes.size(); ++i) {
      const KeyRange below{i == 0 ? bounds.from : std::string(at.nodes[i].key),
                           i + 1 == at.nodes.size() ? bounds.to : std::string(at.nodes[i + 1].key)};
      TORC_TRY(visit(at.nodes[i].child, static_cast<std::uint16_t>(levels - 1), below));
    }
    return {};
  }

  // Not one that was read already: a page that is used twice is one of two things at most.
  Result<bool> read_whole(std::uint64_t page, LmdbPageKind kind, Page& out) const {
    if (!in_file(page) || seen_[page]) return false;
    Result<std::string> bytes = file_.read(page, head_.page_size);
    if (!bytes.ok() && bytes.error().kind == ErrorKind::corrupt) return false;
    if (!bytes.ok()) return std::move(bytes).error();
    out.bytes = *std::move(bytes);
    return read_lmdb_page(out.bytes, page, kind, out.nodes) == nullptr && !out.nodes.empty() &&
           is_packed_lmdb_page(out.bytes, kind, out.nodes);
  }

  Result<void> take(const Page& leaf) {
    for (const LmdbNode& node : leaf.nodes) {
      TORC_ASSIGN(std::optional<std::string> value, value_of(node, Claim::yes));
      if (value) {
        out_.entries.emplace(node.key, *std::move(value));
      } else {
        const std::uint64_t run =
            ((kLmdbPageHeader - 1 + node.size) / head_.page_size) + 1;  // at least
        for (std::uint64_t i = 0; i < run && in_file(node.overflow + i); ++i)
          lose_page(node.overflow + i);
        out_.lost.push_back({std::string(node.key), behind(node.key)});
      }
    }
    return {};
  }

  // Whether the pages of a long value are no others' from then on.
  enum class Claim : std::uint8_t { no, yes };
  // nullopt: its pages are not whole, or are those of another value already.
  Result<std::optional<std::string>> value_of(const LmdbNode& node, Claim claim) {
    if (node.overflow == 0) return std::optional(std::string(node.value));
    TORC_ASSIGN(const std::uint64_t pages, pages_of(node));
    if (pages == 0) return std::optional<std::string>();
    Result<std::string> bytes = file_.read(node.overflow, kLmdbPageHeader + node.size);
    if (!bytes.ok() && bytes.error().kind == ErrorKind::corrupt)
      return std::optional<std::string>();
    if (!bytes.ok()) return std::move(bytes).error();
    for (std::uint64_t i = 0; claim == Claim::yes && i < pages; ++i)
      seen_[node.overflow + i] = true;
    bytes->erase(0, kLmdbPageHeader);  // in its place
    return std::optional(*std::move(bytes));
  }

  // How many a long value has; 0: not what it should be.
  Result<std::uint64_t> pages_of(const LmdbNode& node) const {
    if (!in_file(node.overflow) || node.size > kMostValue) return std::uint64_t{0};
    const Result<std::string> header = file_.read(node.overflow, kLmdbPageHeader);
    if (!header.ok() && header.error().kind == ErrorKind::corrupt) return std::uint64_t{0};
    if (!header.ok()) return header.error();
    const std::uint64_t pages =
        lmdb_overflow_pages(*header, node.overflow, node.size, head_.page_size);
    if (pages > seen_.size() - node.overflow) return std::uint64_t{0};
    for (std::uint64_t i = 0; i < pages; ++i) {
      if (seen_[node.overflow + i]) return std::uint64_t{0};
    }
    return pages;
  }

  // --- by the list of free pages ---

  // A list that calls a page free which was reached from the root is not believed.
  Result<void> learn_used_pages() {
    Result<std::vector<bool>> unused = file_.unused_pages(head_);
    if (!unused.ok() && unused.error().kind != ErrorKind::corrupt) return unused.error();
    bool good = unused.ok();
    for (std::size_t page = 0; good && page < seen_.size(); ++page)
      good = !(seen_[page] && (*unused)[page]);
    out_.knows_used_pages = good;
    unused_ = good ? *std::move(unused) : std::vector<bool>(seen_.size(), true);
    return {};
  }

  [[nodiscard]] bool is_used(std::uint64_t page) const {
    return page <= head_.last_page && !unused_[page];
  }

  // Where something is lost; nullptr: nothing is there.
  [[nodiscard]] const KeyRange* gap_at(std::string_view key) const {
    const auto after =
        std::upper_bound(out_.lost.begin(), out_.lost.end(), key,
                         [](std::string_view k, const KeyRange& range) { return k < range.from; });
    if (after == out_.lost.begin() || !std::prev(after)->contains(key)) return nullptr;
    return &*std::prev(after);
  }

  Result<void> find_leaves() {
    std::vector<Leaf> used;
    TORC_TRY(look_at_rest(used));
    keep_disjoint(used);
    std::vector<KeyRange> lost;
    auto next = used.begin();
    for (KeyRange& gap : std::exchange(out_.lost, {})) {
      for (; next != used.end() && gap.contains(next->first); ++next) {
        if (gap.from < next->first) lost.push_back({gap.from, next->first});
        gap.from = behind(next->last);
        Page leaf;
        TORC_ASSIGN(const bool whole, read_whole(next->page, LmdbPageKind::leaf, leaf));
        if (!whole) continue;  // it was, a moment ago: the file changes, and that is told later
        seen_[next->page] = true;
        TORC_TRY(take(leaf));
      }
      if (gap.to.empty() || gap.from < gap.to) lost.push_back(gap);
    }
    lost.insert(lost.end(), out_.lost.begin(), out_.lost.end());  // long values that are damaged
    std::sort(lost.begin(), lost.end(),
              [](const KeyRange& a, const KeyRange& b) { return a.from < b.from; });
    out_.lost = std::move(lost);
    return {};
  }

  // All pages that were not reached: leaves that the state uses and that lie where something is
  // lost, and others.
  Result<void> look_at_rest(std::vector<Leaf>& used) {
    for (std::uint64_t page = 2; page < seen_.size(); ++page) {
      if (seen_[page]) continue;
      Page at;
      TORC_ASSIGN(const bool whole, read_whole(page, LmdbPageKind::leaf, at));
      if (!whole || !in_order(at.nodes, 0)) {
        if (!is_used(page)) continue;
        TORC_ASSIGN(page, pass_over(page));
        continue;
      }
      const KeyRange* gap = gap_at(at.nodes.front().key);
      const bool fits = gap != nullptr && gap == gap_at(at.nodes.back().key);
      if (fits && is_used(page)) {
        used.push_back({page, std::string(at.nodes.front().key), std::string(at.nodes.back().key)});
      } else {
        others_.push_back(page);
      }
    }
    return {};
  }

  // A page that is no leaf and that the state uses: what is inside of a long value is no page,
  // whatever it looks like. Returns the last page of it.
  Result<std::uint64_t> pass_over(std::uint64_t page) {
    Page branch;
    TORC_ASSIGN(const bool whole, read_whole(page, LmdbPageKind::branch, branch));
    if (whole) return page;
    const Result<std::string> header = file_.read(page, kLmdbPageHeader);
    const std::uint64_t run =
        header.ok() ? lmdb_overflow_pages(*header, page, 0, head_.page_size) : 0;
    if (run > 0 && run <= seen_.size() - page) return page + run - 1;
    lose_page(page);
    return page;
  }

  // Of two leaves that claim the same keys one is not what it seems to be, and nobody knows which.
  // They are sorted then.
  void keep_disjoint(std::vector<Leaf>& leaves) {
    std::sort(leaves.begin(), leaves.end(),
              [](const Leaf& a, const Leaf& b) { return a.first < b.first; });
    std::vector<bool> drop(leaves.size(), false);
    std::size_t furthest = 0;
    for (std::size_t i = 1; i < leaves.size(); ++i) {
      if (leaves[i].first <= leaves[furthest].last) drop[i] = drop[furthest] = true;
      if (leaves[i].last > leaves[furthest].last) furthest = i;
    }
    std::vector<Leaf> kept;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (drop[i]) others_.push_back(leaves[i].page);
      if (!drop[i]) kept.push_back(std::move(leaves[i]));
    }
    leaves = std::move(kept);
  }

  // --- what was before ---

  // Its keys are numbers of transactions, of 8 bytes; nothing else in it says what it is.
  [[nodiscard]] bool is_of_free_list(const Page& leaf) const {
    return std::all_of(leaf.nodes.begin(), leaf.nodes.end(), [&](const LmdbNode& node) {
      return node.key.size() == sizeof(std::uint64_t) &&
             lmdb_word<std::uint64_t>(node.key, 0) <= file_.newest().transaction;
    });
  }

  Result<void> tell_older() {
    std::uint64_t older_bytes = 0;
    for (const std::uint64_t page : others_) {
      Page leaf;
      TORC_ASSIGN(const bool whole, read_whole(page, LmdbPageKind::leaf, leaf));
      if (!whole || is_of_free_list(leaf)) continue;
      for (const LmdbNode& node : leaf.nodes) {
        if (gap_at(node.key) == nullptr || out_.entries.contains(node.key)) continue;
        TORC_ASSIGN(std::optional<std::string> value, value_of(node, Claim::no));
        if (!value) continue;
        // One run of pages may be named again and again.
        older_bytes += node.key.size() + value->size();
        if (older_bytes > kMostOlder) {
          out_.older_cut = true;
          return {};
        }
        out_.older.push_back({std::string(node.key), *std::move(value)});
      }
    }
    return {};
  }

  const LmdbFile& file_;
  const LmdbHead& head_;
  LmdbRemains out_;
  std::vector<bool> seen_;             // pages that hold entries of the state, and were read
  std::vector<bool> counted_;          // of lost_pages
  std::vector<bool> unused_;           // as in LmdbFile; all of them when it is not known
  std::vector<std::uint64_t> others_;  // leaves that are not of the state, for all that is known
};

}  // namespace

Result<LmdbRemains> remains_of(const LmdbFile& file, const LmdbHead& head) {
  return Collector(file, head).run();
}

}  // namespace torc::store
