// What a fuzz target is: one function of bytes that must hold whatever the bytes are. Built two
// ways: with clang and libFuzzer (TORC_FUZZ), which makes up bytes; and everywhere into
// fuzz_replay, which takes those that are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace torc::fuzz {

// Ends the process, so that the fuzzer keeps the input.
[[noreturn]] void fail(const char* file, int line, const char* what);

struct Target {
  const char* name;
  void (*run)(std::string_view input);
};

#ifndef TORC_LIBFUZZER
// Called before main by each target.
bool add(const Target& target);
#endif

inline void put_be32(std::string& bytes, std::size_t at, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(v >> (24 - 8 * i));
}
inline void put_be64(std::string& bytes, std::size_t at, std::uint64_t v) {
  put_be32(bytes, at, static_cast<std::uint32_t>(v >> 32));
  put_be32(bytes, at + 4, static_cast<std::uint32_t>(v));
}
inline std::uint64_t be64_at(std::string_view bytes, std::size_t at) {
  std::uint64_t v = 0;
  for (const char c : bytes.substr(at, 8)) v = (v << 8) | static_cast<std::uint8_t>(c);
  return v;
}

}  // namespace torc::fuzz

#define TORC_MUST(holds) \
  ((holds) ? static_cast<void>(0) : ::torc::fuzz::fail(__FILE__, __LINE__, #holds))

// TORC_FUZZ_TARGET(meta) { … uses `input`, a std::string_view … }
#ifdef TORC_LIBFUZZER
#define TORC_FUZZ_TARGET(name)                                                        \
  static void fuzz_one(std::string_view input);                                       \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);  \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    fuzz_one({reinterpret_cast<const char*>(data), size});                            \
    return 0;                                                                         \
  }                                                                                   \
  static void fuzz_one(std::string_view input)
#else
#define TORC_FUZZ_TARGET(name)                                         \
  static void fuzz_one(std::string_view input);                        \
  static const bool fuzz_added = ::torc::fuzz::add({#name, fuzz_one}); \
  static void fuzz_one(std::string_view input)
#endif
