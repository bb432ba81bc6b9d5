// fuzz_replay TARGET PATH…: gives a fuzz target the files named, and those in the directories
// named. What a fuzzer once found stays found without one. A file that does not hold ends the
// process, after its name was printed.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

namespace fs = std::filesystem;

std::vector<torc::fuzz::Target>& targets() {
  static std::vector<torc::fuzz::Target> all;
  return all;
}

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

namespace torc::fuzz {

bool add(const Target& target) {
  targets().push_back(target);
  return true;
}

}  // namespace torc::fuzz

int main(int argc, char** argv) {
  const auto target = std::find_if(targets().begin(), targets().end(), [&](const auto& t) {
    return argc > 2 && std::string_view(t.name) == argv[1];
  });
  if (target == targets().end()) {
    std::fprintf(stderr, "usage: fuzz_replay TARGET PATH…; targets:");
    for (const auto& t : targets()) std::fprintf(stderr, " %s", t.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  std::size_t count = 0;
  for (int i = 2; i < argc; ++i) {
    for (const fs::path& file : files_of(argv[i])) {
      std::ifstream in(file, std::ios::binary);
      if (!in) {
        std::fprintf(stderr, "fuzz_replay: cannot read %s\n", file.c_str());
        return 2;
      }
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      std::fprintf(stderr, "%s\n", file.filename().c_str());
      target->run(bytes);
      ++count;
    }
  }
  std::printf("%zu inputs of %s hold\n", count, target->name);
  return count > 0 ? 0 : 1;
}
