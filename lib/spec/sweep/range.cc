#include "lib/spec/sweep/range.h"

#include <algorithm>
#include <iterator>

namespace torc::spec {

void append(std::vector<Range>& ranges, std::uint64_t id) {
  if (!ranges.empty() && ranges.back().end() == id) {
    ++ranges.back().count;
  } else {
    ranges.push_back({id, 1});
  }
}

void normalise(std::vector<Range>& ranges) {
  std::erase_if(ranges, [](const Range& r) { return r.count == 0; });
  if (ranges.size() < 2) return;
  if (!std::ranges::is_sorted(ranges, {}, &Range::first))
    std::ranges::sort(ranges, {}, &Range::first);
  std::size_t last = 0;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first <= ranges[last].end()) {
      ranges[last].count = std::max(ranges[last].end(), ranges[i].end()) - ranges[last].first;
    } else {
      ranges[++last] = ranges[i];
    }
  }
  ranges.resize(last + 1);
}

void remove(std::vector<Range>& ranges, std::uint64_t id) {
  const auto next = std::ranges::upper_bound(ranges, id, {}, &Range::first);
  if (next == ranges.begin()) return;
  const auto at = std::prev(next);
  if (id >= at->end()) return;
  const Range below{at->first, id - at->first};
  const Range above{id + 1, at->end() - id - 1};
  if (below.count == 0 && above.count == 0) {
    ranges.erase(at);
  } else if (below.count == 0) {
    *at = above;
  } else {
    *at = below;
    if (above.count > 0) ranges.insert(at + 1, above);
  }
}

std::uint64_t total(const std::vector<Range>& ranges) {
  std::uint64_t sum = 0;
  for (const Range& r : ranges) sum += r.count;
  return sum;
}

void RangeMap::push(const std::vector<Range>& ranges) {
  while (tracks_.size() < ranges.size()) {
    tracks_.emplace_back();
    if (pushed_ > 0) tracks_.back().push_back({0, pushed_, 0, 0, 0});
  }
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    extend(tracks_[t], pushed_, t < ranges.size() ? ranges[t] : Range{});
  }
  ++pushed_;
}

void RangeMap::extend(Track& track, std::uint64_t position, Range range) {
  if (!track.empty()) {
    Run& run = track.back();
    if (run.width == range.count) {
      if (range.count == 0) {
        ++run.length;
        return;
      }
      if (run.length == 1) run.step = range.first - run.first;
      if (run.first + run.length * run.step == range.first) {
        ++run.length;
        return;
      }
    }
  }
  track.push_back({position, 1, range.first, 0, range.count});
}

void RangeMap::append_to(std::vector<Range>& out, std::uint64_t k) const {
  const std::uint64_t position = k / period_ % modulus_;
  for (const Track& track : tracks_) {
    auto run = track.begin();
    if (track.size() > 1) {
      run = std::prev(std::ranges::upper_bound(track, position, {}, &Run::from));
    }
    if (run->width > 0) {
      out.push_back({run->first + (position - run->from) * run->step, run->width});
    }
  }
}

void RangeMap::encode(Encoder& out) const {
  out.varint(period_).varint(modulus_).varint(tracks_.size());
  for (const Track& track : tracks_) {
    out.varint(track.size());
    std::uint64_t expected = 0;
    for (const Run& run : track) {
      out.varint(run.length).svarint(static_cast<std::int64_t>(run.first - expected));
      out.svarint(static_cast<std::int64_t>(run.step)).varint(run.width);
      expected = run.first + run.length * run.step;
    }
  }
}

RangeMap RangeMap::decode(Decoder& in) {
  const std::uint64_t period = std::max<std::uint64_t>(in.varint(), 1);
  const std::uint64_t modulus = std::max<std::uint64_t>(in.varint(), 1);
  RangeMap map(period, modulus);
  const std::uint64_t tracks = in.varint();
  for (std::uint64_t t = 0; t < tracks && in.ok(); ++t) {
    Track track;
    const std::uint64_t runs = in.varint();
    std::uint64_t from = 0;
    std::uint64_t expected = 0;
    for (std::uint64_t r = 0; r < runs && in.ok(); ++r) {
      Run run;
      run.from = from;
      run.length = in.varint();
      run.first = expected + static_cast<std::uint64_t>(in.svarint());
      run.step = static_cast<std::uint64_t>(in.svarint());
      run.width = in.varint();
      from += run.length;
      expected = run.first + run.length * run.step;
      track.push_back(run);
    }
    if (!track.empty()) map.tracks_.push_back(std::move(track));
  }
  map.pushed_ = map.modulus_;
  return map;
}

}  // namespace torc::spec
