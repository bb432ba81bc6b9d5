// The bytes of a workflow file, wherever they come from.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/workflow/context/context.h"

namespace torc::workflow {

// Standard input: "-", or in another form than YAML "json5:-" and "kdl:-".
[[nodiscard]] bool is_stdin(std::string_view file);
// As messages name it, with the ending that tells the form: "<stdin>", "<stdin>.kdl".
[[nodiscard]] std::string stdin_name(std::string_view file);

// The copy of its workflow file in a store: spec.yaml, spec.json5 or spec.kdl.
[[nodiscard]] std::string spec_copy_name(std::string_view file);
// That of the store in `store`; spec.yaml if there is none.
[[nodiscard]] Path spec_copy_in(const Context& context, const Path& store);
// Its text. Nothing but a file is read, and a pipe not waited for: others may have put it there.
[[nodiscard]] Result<std::string> read_spec_copy(const Context& context, const Path& copy);
// Puts another one in its place.
[[nodiscard]] Result<void> replace_spec_copy(const Context& context, const Path& store,
                                             const std::string& file, const std::string& text);

// A file of values that a workflow file names: in the directory of that, or else in the one in
// which torc is called.
[[nodiscard]] Result<std::string> read_value_file(const Context& context, const Path& directory,
                                                  const std::string& name);

// What messages call a text that a user has named.
struct NamedText {
  std::string_view what = "workflow file";
  std::string_view where_too_long = "write many similar jobs as one with parameters";
};

// Also of pipes and the like, which have no size and no positions. Error: not_found, or invalid for
// what is longer than a workflow file may be.
[[nodiscard]] Result<std::string> read_spec_text(const Context& context, const Path& path,
                                                 const NamedText& named = {});
// What a user is told who has named the file: as invalid input. `remedy`: where there is none.
[[nodiscard]] Error unreadable(Error error, const std::string& file, std::string remedy,
                               const NamedText& named = {});
// To its end.
[[nodiscard]] Result<std::string> read_spec_stream(std::FILE* stream, const NamedText& named = {});

}  // namespace torc::workflow
