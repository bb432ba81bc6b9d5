#include "lib/worker/bell/message.h"

#include <algorithm>

#include "lib/base/codec.h"

namespace torc::worker {
namespace {

// With the version of what follows.
constexpr std::string_view kWord{"torc bell\x01", 10};
constexpr std::size_t kSaid = 10 + 16 + 8 + 4;

std::string_view bytes_of(const std::array<std::uint8_t, 16>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string render_bell(const BellMessage& message, const StoreInstance& store, const SipKey& key) {
  Encoder out;
  out.raw(kWord).raw(bytes_of(store)).be64(message.commit).be32(message.place);
  const SipTag tag = siphash128(key, out.bytes());
  out.raw(bytes_of(tag));
  return std::move(out).bytes();
}

std::optional<BellMessage> read_bell(std::string_view datagram, const StoreInstance& store,
                                     const SipKey& key) {
  SipTag tag{};
  if (datagram.size() != kSaid + tag.size() || !datagram.starts_with(kWord)) return std::nullopt;
  std::copy_n(datagram.begin() + kSaid, tag.size(), tag.begin());
  if (!same_tag(tag, siphash128(key, datagram.substr(0, kSaid)))) return std::nullopt;
  if (datagram.substr(kWord.size(), store.size()) != bytes_of(store)) return std::nullopt;
  Decoder in(datagram.substr(kWord.size() + store.size()));
  BellMessage message;
  message.commit = in.be64();
  message.place = in.be32();
  return message;
}

}  // namespace torc::worker
