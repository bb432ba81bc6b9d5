#include "bench/measure.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

extern char** environ;

namespace torc::bench {
namespace {

constexpr std::size_t kColumns = 6;
using Cells = std::array<std::string, kColumns>;

Cells cells_of(const Row& row) {
  const bool judged = row.floor.kind != Floor::Kind::none;
  const double value = row.judged.value_or(row.ratio.value_or(0));
  return {row.figure,
          row.measured,
          row.baseline.empty() ? "-" : row.baseline,
          row.ratio ? fmt::format("{:.2f}", *row.ratio) : "-",
          judged ? row.floor.text : "-",
          !judged                  ? "-"
          : row.floor.holds(value) ? "yes"
                                   : "NO"};
}

std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

struct Arguments {
  Path parent = ".";
  bool quick = false;
  bool tsv = false;
  bool keep = false;
};

std::optional<Arguments> read_arguments(int argc, char** argv) {
  Arguments out;
  bool named = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--quick") {
      out.quick = true;
    } else if (word == "--tsv") {
      out.tsv = true;
    } else if (word == "--keep") {
      out.keep = true;
    } else if (word.starts_with('-') || named) {
      return std::nullopt;
    } else {
      out.parent = word;
      named = true;
    }
  }
  return out;
}

Result<Path> make_fresh(const Path& pattern) {
  std::string name = pattern.string();
  if (mkdtemp(name.data()) != nullptr) return Path(name);
  return os_error(errno, "cannot make a directory in " + pattern.parent_path().string(),
                  "name another place");
}

// ext4 keeps away from the inodes of files that were deleted in the last minutes, and looks for
// others from the beginning of the block group for every file that it makes: after a larger `rm -r`
// in the same group that takes milliseconds. The flag has it spread the directories made in
// `directory` over the groups. Other filesystems refuse it and do not need it.
void ask_for_free_inodes(const Path& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  int flags = 0;
  if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
    flags |= FS_TOPDIR_FL;
    (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
  }
  close(fd);
}

}  // namespace

Result<ScratchDirectory> ScratchDirectory::make(const Path& parent) {
  std::error_code error;
  const Path absolute = std::filesystem::absolute(parent, error);
  if (error) return os_error(error.value(), "cannot find " + parent.string());
  TORC_ASSIGN(Path root, make_fresh((absolute / "torc-bench-XXXXXX").lexically_normal()));
  ask_for_free_inodes(root);
  auto path = make_fresh(root / "XXXXXX");
  ScratchDirectory out(std::move(root), path ? *path : Path());
  if (!path) return std::move(path).error();
  return out;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!root_.empty()) std::filesystem::remove_all(root_, ignored);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Result<Comparison> compare(int rounds, const Round& measured, const Round& baseline) {
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> ratios;
  for (int i = 0; i <= rounds; ++i) {
    TORC_ASSIGN(const Seconds a, measured());
    TORC_ASSIGN(const Seconds b, baseline());
    if (i == 0) continue;
    ours.push_back(a.count());
    theirs.push_back(b.count());
    ratios.push_back(a / b);
  }
  return Comparison{Seconds(median(ours)), Seconds(median(theirs)), median(ratios)};
}

Result<ProcessCost> run_process(const std::vector<std::string>& argv, const Path& directory) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  const auto begun = std::chrono::steady_clock::now();
  pid_t pid = 0;
  const int rc = posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (rc != 0) return os_error(rc, "cannot start " + argv[0]);
  int status = 0;
  rusage usage{};
  while (wait4(pid, &status, 0, &usage) < 0) {
    if (errno != EINTR) return os_error(errno, "cannot wait for " + argv[0]);
  }
  const Seconds wall = std::chrono::steady_clock::now() - begun;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{ErrorKind::io,
                 fmt::format("`{}` ended with wait status {:#x}", fmt::join(argv, " "), status),
                 "run it by hand"};
  }
  return ProcessCost{wall, ByteCount{static_cast<std::uint64_t>(usage.ru_maxrss) << 10}};
}

Result<void> write_text(const Path& file, const std::string& text) {
  std::FILE* out = std::fopen(file.c_str(), "w");
  if (out == nullptr) return os_error(errno, "cannot write " + file.string());
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (std::fclose(out) != 0 || !written) return os_error(errno, "cannot write " + file.string());
  return {};
}

std::string show(Seconds time) {
  const double s = time.count();
  if (s >= 1) return fmt::format("{:.2f} s", s);
  if (s >= 1e-3) return fmt::format("{:.1f} ms", s * 1e3);
  return fmt::format("{:.1f} us", s * 1e6);
}

std::string show(ByteCount bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes.value) / (1 << 20));
}

std::string show_rate(double per_second) {
  return grouped(static_cast<std::uint64_t>(per_second)) + "/s";
}

Floor at_least(double ratio) {
  return {Floor::Kind::at_least, ratio, fmt::format(">= {:.2f}", ratio)};
}
Floor at_most(double ratio) {
  return {Floor::Kind::at_most, ratio, fmt::format("<= {:.2f}", ratio)};
}

bool Table::all_hold() const {
  return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) {
    return row.floor.holds(row.judged.value_or(row.ratio.value_or(0)));
  });
}

std::string Table::text(bool aligned) const {
  std::vector<Cells> lines;
  if (aligned) lines.push_back({"figure", "measured", "baseline", "ratio", "floor", "ok?"});
  for (const Row& row : rows_) lines.push_back(cells_of(row));
  std::string out;
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      std::size_t width = 0;
      for (const Cells& other : lines) width = std::max(width, other[i].size());
      const bool last = i + 1 == kColumns;
      out += !aligned ? cells[i] : last ? cells[i] : fmt::format("{:<{}}", cells[i], width);
      out += last ? "\n" : aligned ? "  " : "\t";
    }
  }
  return out;
}

int run_benchmark(int argc, char** argv,
                  const std::function<Result<void>(const Options&, Table&)>& benchmark) {
  const std::optional<Arguments> arguments = read_arguments(argc, argv);
  if (!arguments) {
    fmt::print(stderr, "usage: {} [--quick] [--tsv] [--keep] [DIRECTORY]\n", argv[0]);
    return 2;
  }
  Table table;
  const auto measure = [&]() -> Result<void> {
    TORC_ASSIGN(ScratchDirectory scratch, ScratchDirectory::make(arguments->parent));
    const Options options{scratch.path(), arguments->quick};
    if (arguments->keep) scratch.keep();
    return benchmark(options, table);
  };
  const Result<void> done = measure();
  fmt::print("{}", table.text(!arguments->tsv));
  if (!done) {
    fmt::print(stderr, "{}: {}\n", argv[0], done.error().text());
    return 2;
  }
  return table.all_hold() ? 0 : 1;
}

}  // namespace torc::bench
