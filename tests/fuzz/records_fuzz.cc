// The records of the claims: what can be read is written again in a form that reads as the same and
// stays as it is. The input: the length of a key, the key, the value. The key's first byte tells
// the table.
#include "lib/claim/rules/handler.h"
#include "lib/claim/tables/queue_head.h"
#include "lib/claim/tables/tables.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace torc::claim;

// `read` of bytes gives an optional, `write` of what it holds gives bytes.
template <class Read, class Write>
void round_trip(std::string_view value, Read read, Write write) {
  const auto first = read(value);
  if (!first) return;
  const std::string canonical{std::string_view(write(*first))};
  const auto second = read(canonical);
  TORC_MUST(second.has_value());
  TORC_MUST(std::string_view(write(*second)) == canonical);
}

template <class Read>
void round_trip(std::string_view value, Read read) {
  round_trip(value, read, [](const auto& record) { return encode(record); });
}

void check_worker(std::string_view value) {
  round_trip(value, decode_worker, [](const Worker& w) {
    Lease last_words;
    last_words.renewals = w.renewals;
    last_words.last_seen = w.last_seen;
    last_words.finished = w.finished;
    return encode_worker(w.info, w.status, last_words, w.gone_at);
  });
}

void check_ready(std::string_view key, std::string_view value) {
  const auto range = decode_ready(key, value);
  if (!range) return;
  TORC_MUST(std::string_view(ready_key(*range)) == key);
  const Value count = Value().varint(range->count);
  TORC_MUST(decode_ready(key, count) == range);
}

void check_order(std::string_view key, std::string_view value) {
  const auto head = decode_order(key, value);
  if (!head) return;
  TORC_MUST(std::string_view(order_key(*head, false)) == key ||
            std::string_view(order_key(*head, true)) == key);
  TORC_MUST(decode_order(key, order_value(*head)) == head);
}

}  // namespace

TORC_FUZZ_TARGET(records) {
  if (input.empty()) return;
  const std::size_t length = static_cast<unsigned char>(input.front());
  if (length == 0 || length > input.size() - 1) return;
  const std::string_view key = input.substr(1, length);
  const std::string_view value = input.substr(1 + length);
  const auto keyed = [&](auto read) {
    return [&, read](std::string_view v) { return read(key, v); };
  };
  switch (static_cast<Table>(key.front())) {
    case Table::countdown:
      (void)decode_total(value);
      return round_trip(value, decode_countdown);
    case Table::job_class:
      return round_trip(value, decode_class);
    case Table::limit:
      return round_trip(value, decode_limit);
    case Table::expense:
      return round_trip(value, decode_expense);
    case Table::upstream:
      return round_trip(value, keyed(decode_upstream));
    case Table::job:
      return round_trip(value, decode_job);
    case Table::tally:
      return round_trip(value, decode_tally);
    case Table::ready:
      return check_ready(key, value);
    case Table::order:
      return check_order(key, value);
    case Table::span:
      return round_trip(value, keyed(decode_span));
    case Table::job_template:
      return round_trip(value, keyed(decode_template));
    case Table::lease:
      return round_trip(value, decode_lease);
    case Table::worker:
      return check_worker(value);
    case Table::barrier:
      return round_trip(value, decode_barrier);
    case Table::handler:
      return round_trip(value, decode_handler);
    case Table::workflow:
      return round_trip(value, decode_workflow);
    default:
      (void)id_in(Table::set_aside, key);
  }
}
