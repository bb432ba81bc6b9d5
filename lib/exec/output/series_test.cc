#include "lib/exec/output/series.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

constexpr AttemptKey kA{7, 1};
constexpr AttemptKey kB{8, 2};

SeriesPoint point(int second, std::uint64_t kib, std::optional<Traffic> io = std::nullopt) {
  return {WallTime(1'000'000'000s) + std::chrono::seconds(second),
          {kib << 10},
          std::chrono::seconds(second),
          io,
          3};
}

class Series : public testing::Test {
 protected:
  Series() {
    std::string name = (std::filesystem::temp_directory_path() / "torc-series-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    names_ = {name, 12};
  }
  ~Series() override { std::filesystem::remove_all(names_.directory); }
  std::unique_ptr<SeriesWriter> writer() {
    auto made = SeriesWriter::create(disk_, names_);
    EXPECT_TRUE(made.ok()) << made.error().text();
    return *std::move(made);
  }
  std::vector<SeriesPoint> of(AttemptKey key) {
    auto read = read_series(root_, names_, key);
    EXPECT_TRUE(read.ok()) << read.error().text();
    EXPECT_TRUE(read->has_value());
    return read->value_or(std::vector<SeriesPoint>{});
  }
  std::uint64_t data_size() { return std::filesystem::file_size(names_.data()); }

  SeriesNames names_;
  beneath::Root root_{"/"};
  PosixOutputDisk disk_{"/"};
};

TEST_F(Series, are_read_while_they_are_written) {
  const auto w = writer();
  const SeriesPoint first = point(1, 100, Traffic{{5}, {6}});
  const SeriesPoint second = point(3, 50, Traffic{{1'000'000'000'000}, {6}});
  ASSERT_TRUE(w->add({{kA, first}, {kB, point(1, 9)}}).ok());
  EXPECT_EQ(of(kA), std::vector{first});
  ASSERT_TRUE(w->add({{kA, second}}).ok());
  EXPECT_EQ(of(kA), (std::vector{first, second}));
  EXPECT_EQ(of(kB), std::vector{point(1, 9)});
  EXPECT_EQ(*read_series(root_, names_, {7, 2}), std::nullopt) << "another attempt";
}

TEST_F(Series, of_a_worker_that_kept_none_there_are_none) {
  EXPECT_EQ(*read_series(root_, {names_.directory, 99}, kA), std::nullopt);
  EXPECT_EQ(*series_worker(root_, names_.directory, kA), std::nullopt);
}

TEST_F(Series, what_was_cut_off_leaves_what_is_before_it) {
  const auto w = writer();
  std::vector<std::uint64_t> sizes{0};
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(w->add({{kA, point(i, 100)}, {kB, point(i, 200)}}).ok());
    sizes.push_back(data_size());
  }
  for (std::uint64_t size = data_size(); size > 0; --size) {
    std::filesystem::resize_file(names_.data(), size - 1);
    std::size_t whole = 0;
    while (whole + 1 < sizes.size() && sizes[whole + 1] <= size - 1) ++whole;
    EXPECT_EQ(of(kA).size(), whole) << size;
  }
}

TEST_F(Series, a_damaged_byte_is_noticed) {
  const auto w = writer();
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(w->add({{kA, point(i, 100)}}).ok());
  const std::uint64_t size = data_size();
  std::fstream file(names_.data(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size - 2));
  file.put('\x55');
  file.close();
  EXPECT_EQ(of(kA), (std::vector{point(1, 100), point(2, 100)}));
}

// As a hole of any size has them.
TEST_F(Series, nothing_is_looked_for_behind_zeros) {
  const auto w = writer();
  ASSERT_TRUE(w->add({{kA, point(1, 100)}}).ok());
  const std::uint64_t size = data_size();
  ASSERT_TRUE(w->add({{kA, point(2, 100)}}).ok());
  std::ifstream in(names_.data(), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  bytes.insert(size, 8, '\0');
  std::ofstream(names_.data(), std::ios::binary) << bytes;
  EXPECT_EQ(of(kA), std::vector{point(1, 100)});
}

TEST_F(Series, nothing_is_looked_for_in_an_index_behind_a_hole_of_two_mebibytes) {
  ASSERT_TRUE(writer()->add({{kA, point(1, 100)}}).ok());
  std::ifstream in(names_.index(), std::ios::binary);
  const std::string entry{std::istreambuf_iterator<char>(in), {}};
  const std::string hole(entry.size() * 80'000, '\0');
  std::ofstream(names_.index(), std::ios::binary) << hole.substr(0, entry.size()) << entry;
  EXPECT_EQ(*series_worker(root_, names_.directory, kA), 12U) << "a damaged entry is passed over";
  std::ofstream(names_.index(), std::ios::binary) << hole << entry;
  EXPECT_EQ(*series_worker(root_, names_.directory, kA), std::nullopt);
}

TEST_F(Series, a_point_at_a_time_that_cannot_be_is_not_believed_nor_what_follows) {
  const SeriesPoint sane = point(1, 100);
  for (const bool of_cpu : {false, true}) {
    SeriesPoint wrong = sane;
    (of_cpu ? wrong.cpu_time : wrong.at) = std::chrono::hours(24 * 365 * 1001);
    std::filesystem::remove(names_.index());
    std::filesystem::remove(names_.data());
    ASSERT_TRUE(writer()->add({{kA, sane}, {kA, wrong}, {kA, sane}}).ok());
    EXPECT_EQ(of(kA), std::vector{sane});
  }
}

TEST_F(Series, a_point_of_a_job_that_goes_on_as_before_is_small) {
  const auto w = writer();
  std::vector<std::pair<AttemptKey, SeriesPoint>> all;
  for (std::uint64_t job = 1; job <= 64; ++job)
    all.push_back({{job, 1}, point(0, 1'000'000, Traffic{{1'000'000}, {1'000'000}})});
  ASSERT_TRUE(w->add(all).ok());
  const std::uint64_t begun = data_size();
  for (auto& [key, p] : all) p = point(10, 1'000'500, Traffic{{1'200'000}, {1'300'000}});
  ASSERT_TRUE(w->add(all).ok());
  EXPECT_LE(data_size() - begun, 64U * 18);
}

TEST_F(Series, the_newest_worker_that_had_an_attempt_is_found) {
  ASSERT_TRUE(writer()->add({{kA, point(1, 1)}}).ok());
  names_.worker = 30;
  ASSERT_TRUE(writer()->add({{kA, point(1, 1)}}).ok());
  names_.worker = 40;
  ASSERT_TRUE(writer()->add({{kB, point(1, 1)}}).ok());
  EXPECT_EQ(*series_worker(root_, names_.directory, kA), 30U);
  EXPECT_EQ(*series_worker(root_, names_.directory, kB), 40U);
}

RC_GTEST_FIXTURE_PROP(Series, are_read_back_as_they_were_added, ()) {
  std::filesystem::remove(names_.data());
  std::filesystem::remove(names_.index());
  const auto w = writer();
  std::map<AttemptKey, std::vector<SeriesPoint>> expected;
  const auto number = [](std::uint64_t below) {
    return *rc::gen::inRange<std::uint64_t>(0, below);
  };
  for (std::uint64_t writes = number(8); writes > 0; --writes) {
    std::vector<std::pair<AttemptKey, SeriesPoint>> points;
    for (std::uint64_t job = 1; job < 5; ++job) {
      if (number(2) == 0) continue;
      SeriesPoint p = point(static_cast<int>(number(1000)), number(1ULL << 40));
      if (number(3) != 0) p.io = Traffic{{number(1ULL << 50)}, {number(1ULL << 50)}};
      p.processes = static_cast<std::uint32_t>(number(500));
      points.push_back({{job, 1}, p});
      expected[{job, 1}].push_back(p);
    }
    RC_ASSERT(w->add(points).ok());
  }
  for (const auto& [key, points] : expected) {
    RC_ASSERT(of(key) == points);
    w->end(key);
  }
  RC_ASSERT(w->add({}).ok());
  for (const auto& [key, points] : expected) RC_ASSERT(of(key) == points);
}

}  // namespace
}  // namespace torc::exec
