// The labels of a job or of a worker as one text: "gpu,ssd", each once, in alphabetical order. A
// label is never empty and has no comma.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace torc {

// The labels of such a text, or of one that a person wrote: also in another order, with blanks
// around them. Empty ones are left out. Views into `text`.
[[nodiscard]] std::vector<std::string_view> labels_of(std::string_view text);

// The one text of all these labels.
[[nodiscard]] std::string join_labels(std::vector<std::string_view> labels);

// What a person wrote on a command line: "ssd, gpu". Empty: none. Error invalid: one of them is
// empty.
[[nodiscard]] Result<std::string> parse_labels(std::string_view text);

// Whether `have` has all of `need`. In whatever order they stand.
[[nodiscard]] bool covers_labels(std::string_view have, std::string_view need);

// "'gpu', 'ssd'"; nothing for none.
[[nodiscard]] std::string quote_labels(std::string_view labels);
// "label 'gpu'", "labels 'gpu', 'ssd'"; "no label".
[[nodiscard]] std::string say_labels(std::string_view labels);

}  // namespace torc
