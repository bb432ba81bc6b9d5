#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "lib/base/path.h"
#include "lib/exec/output/packed_reader.h"
#include "lib/exec/output/packed_writer.h"
#include "lib/exec/output/spare_files.h"

namespace torc::exec {
namespace {

class TempDirectory {
 public:
  TempDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "torc-packed-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TempDirectory() { std::filesystem::remove_all(path_); }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  [[nodiscard]] const Path& path() const { return path_; }

 private:
  Path path_;
};

// The real one until `left` steps that change something were made; from then on either every one
// fails (as on a full disk), or the one step does.
class FailingDisk final : public OutputDisk {
 public:
  enum class After : std::uint8_t { all, one };
  explicit FailingDisk(int left, After after = After::all) : left_(left), after_(after) {}

  Result<int> open(const Path& path, OpenAs as) override {
    TORC_TRY(step());
    return disk_.open(path, as);
  }
  Result<std::uint64_t> size(int fd) override { return disk_.size(fd); }
  Result<void> write_at(int fd, std::string_view bytes, std::uint64_t at) override {
    // A full disk takes a part.
    if (const auto can = step(); !can) {
      (void)disk_.write_at(fd, bytes.substr(0, bytes.size() / 2), at);
      return can;
    }
    return disk_.write_at(fd, bytes, at);
  }
  Result<void> copy(int from, std::uint64_t length, int to, std::uint64_t at) override {
    if (const auto can = step(); !can) {
      (void)disk_.copy(from, length / 2, to, at);
      return can;
    }
    return disk_.copy(from, length, to, at);
  }
  Result<void> empty(int fd) override {
    TORC_TRY(step());
    return disk_.empty(fd);
  }
  Result<void> rename(const Path& from, const Path& to) override {
    TORC_TRY(step());
    return disk_.rename(from, to);
  }
  Result<void> remove(const Path& path) override {
    TORC_TRY(step());
    return disk_.remove(path);
  }
  Result<void> sync(int fd) override {
    TORC_TRY(step());
    return disk_.sync(fd);
  }
  [[nodiscard]] bool failed() const { return left_ < 0; }

 private:
  Result<void> step() {
    const bool fails = left_ == 0 || (left_ < 0 && after_ == After::all);
    if (left_ >= 0) --left_;
    if (fails) return os_error(ENOSPC, "cut off");
    return {};
  }
  PosixOutputDisk disk_{"/"};
  int left_;
  After after_;
};

void write_as_job(int fd, std::string_view text) {
  ASSERT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::string read_all(const Path& directory, AttemptKey key, Stream stream,
                     std::uint64_t worker = 7) {
  PackedReader reader(directory.parent_path(), directory);
  auto chunk = reader.read(worker, key, stream, 0, 1 << 20);
  EXPECT_TRUE(chunk.ok()) << chunk.error().text();
  return chunk ? chunk->bytes : "";
}

std::unique_ptr<PackedWriter> make(OutputDisk& disk, const Path& directory) {
  auto made = PackedWriter::create(disk, {directory, 7}, Coherence::ordered);
  EXPECT_TRUE(made.ok()) << made.error().text();
  return *std::move(made);
}

TEST(Packed, what_a_job_wrote_is_read_while_it_runs_and_after_it_ended) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  const auto writer = make(disk, here.path());
  const auto place = *writer->begin({1, 1});
  write_as_job(place.out, "hello ");
  EXPECT_EQ(read_all(here.path(), {1, 1}, Stream::out), "hello ");
  write_as_job(place.out, "world");
  write_as_job(place.err, "oops");
  ASSERT_TRUE(writer->end(place.slot, Keep::yes).ok());
  const auto next = *writer->begin({2, 1});
  EXPECT_EQ(next.slot, place.slot);
  write_as_job(next.out, "other");
  EXPECT_EQ(read_all(here.path(), {1, 1}, Stream::out), "hello world");
  EXPECT_EQ(read_all(here.path(), {1, 1}, Stream::err), "oops");
  EXPECT_EQ(read_all(here.path(), {2, 1}, Stream::out), "other");
  EXPECT_EQ(read_all(here.path(), {2, 1}, Stream::err), "");
}

TEST(Packed, a_reader_that_saw_a_job_running_finds_it_at_its_new_place) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  const auto writer = make(disk, here.path());
  PackedReader reader(here.path().parent_path(), here.path());
  auto place = *writer->begin({1, 1});
  write_as_job(place.out, "one");
  EXPECT_EQ(reader.read(7, {1, 1}, Stream::out, 0, 100)->bytes, "one");
  write_as_job(place.out, "two");
  ASSERT_TRUE(writer->end(place.slot, Keep::yes).ok());
  place = *writer->begin({2, 1});
  write_as_job(place.out, "not this");
  EXPECT_EQ(reader.read(7, {1, 1}, Stream::out, 3, 100)->bytes, "two");
  EXPECT_EQ(reader.read(7, {1, 1}, Stream::out, 6, 100)->bytes, "");
}

TEST(Packed, a_job_without_output_costs_no_data_and_finds_no_others_output) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  const auto writer = make(disk, here.path());
  auto place = *writer->begin({1, 1});
  ASSERT_TRUE(writer->end(place.slot, Keep::yes).ok());
  place = *writer->begin({2, 1});
  write_as_job(place.out, "mine");
  EXPECT_EQ(read_all(here.path(), {1, 1}, Stream::out), "");
  EXPECT_EQ(std::filesystem::file_size(here.path() / "7.data"), 0U);
}

TEST(Packed, a_job_that_empties_its_output_hurts_nobody_else) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  const auto writer = make(disk, here.path());
  auto place = *writer->begin({1, 1});
  write_as_job(place.out, "first");
  ASSERT_TRUE(writer->end(place.slot, Keep::yes).ok());
  place = *writer->begin({2, 1});
  write_as_job(place.out, "lost");
  ASSERT_EQ(ftruncate(place.out, 0), 0);
  ASSERT_EQ(fcntl(place.out, F_SETFL, 0), 0);
  write_as_job(place.out, "kept");
  ASSERT_TRUE(writer->end(place.slot, Keep::yes).ok());
  place = *writer->begin({3, 1});
  write_as_job(place.out, "third");
  ASSERT_TRUE(writer->end(place.slot, Keep::yes).ok());
  EXPECT_EQ(read_all(here.path(), {1, 1}, Stream::out), "first");
  EXPECT_EQ(read_all(here.path(), {2, 1}, Stream::out).substr(4), "kept");
  EXPECT_EQ(read_all(here.path(), {3, 1}, Stream::out), "third");
}

TEST(Packed, discarded_output_is_gone) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  const auto writer = make(disk, here.path());
  const auto place = *writer->begin({1, 1});
  write_as_job(place.out, "done");
  ASSERT_TRUE(writer->end(place.slot, Keep::no).ok());
  EXPECT_EQ(read_all(here.path(), {1, 1}, Stream::out), "");
  EXPECT_EQ(std::filesystem::file_size(here.path() / "7.data"), 0U);
}

TEST(Packed, large_output_becomes_a_file_of_its_own) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  const auto writer = make(disk, here.path());
  const auto place = *writer->begin({1, 1});
  write_as_job(place.out, "start");
  ASSERT_EQ(ftruncate(place.out, PackedWriter::kLargest + 1), 0);
  write_as_job(place.err, "small");
  ASSERT_TRUE(writer->end(place.slot, Keep::yes).ok());
  EXPECT_EQ(std::filesystem::file_size(here.path() / "7.data"), 5U);
  EXPECT_TRUE(std::filesystem::exists(here.path() / "7.job1.1.out"));
  EXPECT_EQ(read_all(here.path(), {1, 1}, Stream::out).substr(0, 5), "start");
  EXPECT_EQ(read_all(here.path(), {1, 1}, Stream::err), "small");
  EXPECT_NE(writer->begin({2, 1})->slot, place.slot);
}

TEST(Packed, tidying_up_leaves_the_index_and_the_data_only) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  const auto writer = make(disk, here.path());
  const auto one = *writer->begin({1, 1});
  const auto two = *writer->begin({2, 1});
  write_as_job(two.out, "two");
  ASSERT_TRUE(writer->end(one.slot, Keep::yes).ok());
  ASSERT_TRUE(writer->end(two.slot, Keep::yes).ok());
  writer->tidy();
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(here.path()))
    ++files;
  EXPECT_EQ(files, 2U);
  EXPECT_EQ(read_all(here.path(), {2, 1}, Stream::out), "two");
}

TEST(Packed, the_newest_worker_that_had_an_attempt_is_found) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  for (const std::uint64_t worker : {7, 12, 9}) {
    auto writer = PackedWriter::create(disk, {here.path(), worker}, Coherence::ordered);
    ASSERT_TRUE(writer.ok());
    const auto place = *(*writer)->begin({worker, 1});
    write_as_job(place.out, std::to_string(worker));
    if (worker != 12) {
      ASSERT_TRUE((*writer)->begin({3, 2}).ok());
    }
  }
  PackedReader reader(here.path().parent_path(), here.path());
  EXPECT_EQ(*reader.worker_of({12, 1}), std::optional<std::uint64_t>(12));
  EXPECT_EQ(*reader.worker_of({3, 2}), std::optional<std::uint64_t>(9));
  EXPECT_EQ(*reader.worker_of({3, 1}), std::nullopt);
  EXPECT_FALSE(PackedWriter::create(disk, {here.path(), 7}, Coherence::ordered).ok());
}

TEST(Packed, ranks_of_an_attempt_are_told_apart) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  const std::uint16_t ranks[] = {0, 1, 300};
  for (const std::uint16_t rank : ranks) {
    auto writer = PackedWriter::create(disk, {here.path(), 10U + rank}, Coherence::ordered);
    ASSERT_TRUE(writer.ok());
    const auto place = *(*writer)->begin({1, 1, rank});
    write_as_job(place.out, "rank " + std::to_string(rank));
    write_as_job(place.err, "err " + std::to_string(rank));
    ASSERT_EQ(ftruncate(place.err, PackedWriter::kLargest + 1), 0);  // it gets a file of its own
    ASSERT_TRUE((*writer)->end(place.slot, Keep::yes).ok());
  }
  PackedReader reader(here.path().parent_path(), here.path());
  for (const std::uint16_t rank : ranks) {
    const AttemptKey key{1, 1, rank};
    const std::string text = std::to_string(rank);
    EXPECT_EQ(*reader.worker_of(key), std::optional<std::uint64_t>(10U + rank));
    EXPECT_EQ(read_all(here.path(), key, Stream::out, 10U + rank), "rank " + text);
    EXPECT_TRUE(read_all(here.path(), key, Stream::err, 10U + rank).starts_with("err " + text));
  }
  // By the name of such a file alone.
  for (const std::uint16_t rank : ranks)
    std::filesystem::remove(PackedNames{here.path(), 10U + rank}.index());
  PackedReader late(here.path().parent_path(), here.path());
  for (const std::uint16_t rank : ranks)
    EXPECT_EQ(*late.worker_of({1, 1, rank}), std::optional<std::uint64_t>(10U + rank));
  EXPECT_EQ(*late.worker_of({1, 1, 3}), std::nullopt);
}

TEST(Packed, a_damaged_record_hides_no_other) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  const auto writer = make(disk, here.path());
  for (std::uint64_t job = 1; job <= 3; ++job) {
    const auto place = *writer->begin({job, 1});
    write_as_job(place.out, "job" + std::to_string(job));
    ASSERT_TRUE(writer->end(place.slot, Keep::yes).ok());
  }
  const int fd = ::open((here.path() / "7.index").c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(fd, "xxxx", 4, 3 * kPackedRecordBytes + 9), 4);  // job 2, kept
  ::close(fd);
  EXPECT_EQ(read_all(here.path(), {1, 1}, Stream::out), "job1");
  EXPECT_EQ(read_all(here.path(), {2, 1}, Stream::out), "");
  EXPECT_EQ(read_all(here.path(), {3, 1}, Stream::out), "job3");
}

// Of any size, which a reader would go through to its end.
TEST(Packed, nothing_is_looked_for_in_an_index_behind_a_hole_of_a_mebibyte) {
  const TempDirectory temp;
  const PackedNames names{temp.path(), 3};
  const std::string record = encode(PackedRecord{PackedRecord::Kind::begin, Stream::out, {7, 1}});
  const auto is_found_behind = [&](std::size_t hole) {
    std::ofstream(names.index(), std::ios::binary) << std::string(hole, '\0') << record;
    return PackedReader(temp.path().parent_path(), temp.path()).worker_of({7, 1})->has_value();
  };
  EXPECT_TRUE(is_found_behind(kPackedRecordBytes));
  EXPECT_FALSE(is_found_behind(std::size_t{1} << 20));
}

// The order of the writer's steps is what a reader beside it relies on. Jobs with and without
// output take turns in one slot.
TEST(Packed, a_reader_beside_the_writer_never_sees_the_output_of_another_job) {
  constexpr std::uint64_t kJobs = 3000;
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  const auto writer = make(disk, here.path());
  std::atomic<std::uint64_t> running{1};
  const auto text_of = [](std::uint64_t job) {
    return job % 3 == 0 ? std::string() : "job " + std::to_string(job) + "\n";
  };
  std::thread work([&] {
    for (std::uint64_t job = 1; job <= kJobs; ++job) {
      const auto place = writer->begin({job, 1});
      running = job;
      const std::string text = text_of(job);
      (void)!::write(place->out, text.data(), text.size());
      (void)writer->end(place->slot, Keep::yes);
    }
    running = kJobs + 1;
  });
  PackedReader reader(here.path().parent_path(), here.path());
  for (std::uint64_t job = running; job <= kJobs; job = running) {
    const auto chunk = reader.read(7, {job, 1}, Stream::out, 0, 100);
    EXPECT_TRUE(chunk.ok());
    if (chunk) {
      EXPECT_TRUE(chunk->bytes.empty() || chunk->bytes == text_of(job)) << chunk->bytes;
    }
  }
  work.join();
  for (std::uint64_t job = 1; job <= kJobs; ++job)
    EXPECT_EQ(reader.read(7, {job, 1}, Stream::out, 0, 100)->bytes, text_of(job));
}

// What jobs wrote that were begun, by a worker that runs two at a time and loses its disk, or its
// life, after some step.
struct Story {
  std::map<std::pair<AttemptKey, Stream>, std::string> written;
  bool cut = false;
};

Story tell(const Path& directory, Coherence coherence, int steps, FailingDisk::After after,
           const std::vector<std::pair<std::string, std::string>>& texts) {
  Story story;
  FailingDisk disk(steps, after);
  auto made = PackedWriter::create(disk, {directory, 7}, coherence);
  std::vector<PackedWriter::Place> running;
  for (std::size_t i = 0; made && i < texts.size(); ++i) {
    const AttemptKey key{i + 1, 1};
    auto place = (*made)->begin(key);
    if (!place) continue;  // its caller gives it files of its own
    write_as_job(place->out, texts[i].first);
    write_as_job(place->err, texts[i].second);
    story.written[{key, Stream::out}] = texts[i].first;
    story.written[{key, Stream::err}] = texts[i].second;
    running.push_back(*place);
    if (running.size() < 2) continue;
    (void)(*made)->end(running.front().slot, Keep::yes);
    running.erase(running.begin());
  }
  story.cut = disk.failed();
  return story;
}

void every_byte_is_found_once(FailingDisk::After after) {
  const std::vector<std::pair<std::string, std::string>> texts{
      {"both", "streams"}, {"", ""}, {"out", ""}, {"", "err"}, {"again", "both"}, {"x", "y"}};
  for (const auto coherence : {Coherence::ordered, Coherence::delayed}) {
    bool cut = true;
    for (int steps = 0; cut; ++steps) {
      SCOPED_TRACE(testing::Message() << "step " << steps);
      const TempDirectory here;
      const Story story = tell(here.path(), coherence, steps, after, texts);
      for (const auto& [what, text] : story.written) {
        EXPECT_EQ(read_all(here.path(), what.first, what.second), text) << what.first.job;
      }
      cut = story.cut;
      EXPECT_TRUE(cut || story.written.size() == 2 * texts.size());
    }
  }
}

TEST(Packed, every_byte_is_found_once_when_nothing_can_be_written_after_any_step) {
  every_byte_is_found_once(FailingDisk::After::all);
}

TEST(Packed, every_byte_is_found_once_when_any_one_step_fails) {
  every_byte_is_found_once(FailingDisk::After::one);
}

TEST(Spares, an_empty_file_becomes_the_next_one_and_a_written_one_stays) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  SpareFiles spares(disk);
  const Path a = here.path() / "a";
  const Path b = here.path() / "b";
  const Path c = here.path() / "c";
  const int first = *spares.open(a);
  spares.give_back(first, a);
  const int second = *spares.open(b);
  EXPECT_EQ(second, first);
  EXPECT_FALSE(std::filesystem::exists(a));
  write_as_job(second, "text");
  spares.give_back(second, b);
  spares.give_back(*spares.open(c), c);
  EXPECT_EQ(std::filesystem::file_size(b), 4U);
  spares.remove_all();
  EXPECT_FALSE(std::filesystem::exists(c));
  EXPECT_TRUE(std::filesystem::exists(b));
}

// Of two jobs that were not begun, one is begun after all.
TEST(Spares, the_name_of_a_spare_file_is_given_to_no_other_one) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  SpareFiles spares(disk);
  const Path a = here.path() / "a";
  const Path b = here.path() / "b";
  const Path c = here.path() / "c";
  const int first = *spares.open(a);
  const int second = *spares.open(b);
  spares.give_back(first, a);
  spares.give_back(second, b);
  const int again = *spares.open(a);
  EXPECT_EQ(again, first) << "on NFS a file that is renamed over lives on under a name of its own";
  write_as_job(again, "text");
  const int third = *spares.open(c);
  write_as_job(third, "more");
  spares.give_back(again, a);
  spares.give_back(third, c);
  spares.remove_all();
  EXPECT_EQ(std::filesystem::file_size(a), 4U);
  EXPECT_EQ(std::filesystem::file_size(c), 4U);
  EXPECT_FALSE(std::filesystem::exists(b));
}

TEST(Spares, a_file_that_took_the_place_of_a_spare_one_is_left_alone) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  SpareFiles spares(disk);
  const Path a = here.path() / "a";
  const Path b = here.path() / "b";
  spares.give_back(*spares.open(a), a);
  std::filesystem::remove(a);
  ::close(::open(a.c_str(), O_CREAT | O_WRONLY, 0600));
  write_as_job(*spares.open(b), "text");
  EXPECT_TRUE(std::filesystem::exists(a));
  EXPECT_EQ(std::filesystem::file_size(b), 4U);
}

TEST(Spares, a_file_that_its_job_moved_away_is_left_alone) {
  const TempDirectory here;
  PosixOutputDisk disk{here.path()};
  SpareFiles spares(disk);
  const Path a = here.path() / "a";
  const int fd = *spares.open(a);
  std::filesystem::rename(a, here.path() / "moved");
  ::close(::open(a.c_str(), O_CREAT | O_WRONLY, 0600));
  spares.give_back(fd, a);
  const int next = *spares.open(here.path() / "b");
  write_as_job(next, "text");
  spares.give_back(next, here.path() / "b");
  spares.remove_all();
  EXPECT_TRUE(std::filesystem::exists(a));
  EXPECT_EQ(std::filesystem::file_size(here.path() / "moved"), 0U);
}

}  // namespace
}  // namespace torc::exec
