// SHA-256 (FIPS 180-4), for what others shall check: in files of other formats.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace torc {

class Sha256 {
 public:
  void add(std::string_view bytes);
  // Of all that was added, as 64 hexadecimal digits. To be called once.
  [[nodiscard]] std::string digest();

 private:
  void block(const unsigned char* bytes);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace torc
