#include "lib/claim/tables/signature.h"

#include "lib/base/codec.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

enum FingerprintFlag : std::uint8_t { kExists = 1, kSum = 2 };

void encode(Encoder& out, const std::vector<FileFingerprint>& fingerprints) {
  out.varint(fingerprints.size());
  for (const FileFingerprint& m : fingerprints) {
    out.u8(static_cast<std::uint8_t>((m.exists ? kExists : 0) | (m.sum != 0 ? kSum : 0)));
    if (!m.exists) continue;
    out.varint(m.size).svarint(m.mtime);
    if (m.sum != 0) out.be64(m.sum);
  }
}

bool decode(Decoder& in, std::vector<FileFingerprint>& fingerprints) {
  const std::uint64_t n = in.varint();
  if (n > Signature::kMostFiles) return false;
  for (std::uint64_t i = 0; i < n && in.ok(); ++i) {
    FileFingerprint m;
    const std::uint8_t flags = in.u8();
    m.exists = (flags & kExists) != 0;
    if (m.exists) {
      m.size = in.varint();
      m.mtime = in.svarint();
      if ((flags & kSum) != 0) m.sum = in.be64();
    }
    fingerprints.push_back(m);
  }
  return in.ok();
}

}  // namespace

bool looks_alike(const FileFingerprint& a, const FileFingerprint& b) {
  if (a.exists != b.exists || a.size != b.size) return false;
  if (a.sum != 0 && b.sum != 0) return a.sum == b.sum;
  return a.mtime == b.mtime;
}

std::vector<FileFingerprint> folded(std::vector<FileFingerprint> fingerprints) {
  if (fingerprints.size() <= Signature::kMostFiles) return fingerprints;
  FileFingerprint one;
  one.exists = true;
  bool has_sums = false;
  for (const FileFingerprint& m : fingerprints) {
    one.size += m.size;
    has_sums = has_sums || m.sum != 0;
  }
  const auto hash_of = [&](bool by_sums) {
    std::vector<FileFingerprint> compared = fingerprints;
    for (FileFingerprint& m : compared) {
      // Times of single files must not show where their contents decide.
      if (by_sums && m.sum != 0)
        m.mtime = 0;
      else
        m.sum = 0;
    }
    Encoder all;
    encode(all, compared);
    return name_hash(all.bytes());
  };
  one.mtime = static_cast<std::int64_t>(hash_of(false));
  if (has_sums) one.sum = std::max<std::uint64_t>(hash_of(true), 1);
  return {one};
}

std::string encode(Signature signature) {
  Encoder out;
  encode(out, folded(std::move(signature.inputs)));
  encode(out, folded(std::move(signature.outputs)));
  out.varint(signature.user_data.size());
  for (const std::uint64_t hash : signature.user_data) out.be64(hash);
  return std::move(out).bytes();
}

std::optional<Signature> decode_signature(std::string_view bytes) {
  Decoder in(bytes);
  Signature signature;
  if (!decode(in, signature.inputs) || !decode(in, signature.outputs)) return std::nullopt;
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n)
    signature.user_data.push_back(in.be64());
  return in.whole(std::move(signature));
}

Result<std::optional<Signature>> read_signature(const Reader& reader, JobId id) {
  const Key key(Table::signature, raw(id));
  const auto value = reader.get(key);
  if (!value) return std::optional<Signature>();
  auto signature = decode_signature(*value);
  if (!signature) return unreadable(key);
  return signature;
}

}  // namespace torc::claim
