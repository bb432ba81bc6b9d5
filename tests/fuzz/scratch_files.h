// A directory in memory for readers that open files themselves: of this process, removed with it.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz.h"

namespace torc::fuzz {

class ScratchFiles {
 public:
  ScratchFiles() {
    const bool memory = ::access("/dev/shm", W_OK) == 0;
    std::string name = memory ? "/dev/shm/torc-fuzz-XXXXXX" : "/tmp/torc-fuzz-XXXXXX";
    TORC_MUST(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~ScratchFiles() {
    std::error_code failed;
    std::filesystem::remove_all(path_, failed);
  }
  ScratchFiles(const ScratchFiles&) = delete;
  ScratchFiles& operator=(const ScratchFiles&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void put(const std::filesystem::path& file, std::string_view bytes) const {
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    TORC_MUST(out.good());
  }

 private:
  std::filesystem::path path_;
};

// Two files in one input: what its first two bytes count belongs to the first.
struct Halves {
  std::string first;
  std::string second;
};
inline Halves halves_of(std::string_view input) {
  if (input.size() < 2) return {};
  const auto size = static_cast<std::size_t>(static_cast<std::uint8_t>(input[0]) << 8 |
                                             static_cast<std::uint8_t>(input[1]));
  input.remove_prefix(2);
  const std::size_t first = std::min(size, input.size());
  return {std::string(input.substr(0, first)), std::string(input.substr(first))};
}

}  // namespace torc::fuzz
