// SipHash-2-4 with a result of 128 bits: a message authentication code for short messages under a
// secret key (Aumasson and Bernstein, 2012). Who does not know the key cannot make the code of any
// message, whatever codes of others it has seen.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace torc {

using SipKey = std::array<std::uint8_t, 16>;
using SipTag = std::array<std::uint8_t, 16>;

[[nodiscard]] SipTag siphash128(const SipKey& key, std::string_view message);
// In a time that does not tell where they differ.
[[nodiscard]] bool same_tag(const SipTag& a, const SipTag& b);

}  // namespace torc
