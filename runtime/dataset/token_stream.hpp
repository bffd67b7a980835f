#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/job.hpp"
#include "runtime/dataset/documents.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace muster::runtime {

/// All documents of a job as one row of tokens, in the order of files and rows. Immutable once
/// made.
///
///     token      h  i  eos  y  o  u  eos
///     document   0  0  0    1  1  1  1
class TokenStream {
 public:
  /// Adds a document of at least one token that begins at `line` of `file`.
  void add(std::span<const std::int32_t> ids, std::string_view file, std::int64_t line);

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t documents() const noexcept { return static_cast<std::int64_t>(documents_.size()); }
  std::span<const std::int32_t> tokens() const noexcept { return tokens_; }

  /// Where document `document` begins and ends (one behind its last token).
  std::int64_t begin_of(std::int64_t document) const noexcept;
  std::int64_t end_of(std::int64_t document) const noexcept;
  /// Where it was read, for messages: "data.jsonl:7".
  std::string place_of(std::int64_t document) const;

  /// The document that token `position` belongs to. Time logarithmic in documents.
  std::int64_t document_at(std::int64_t position) const noexcept;

 private:
  friend std::pair<TokenStream, TokenStream> split(const TokenStream& stream, double part);

  struct Document {
    std::int64_t begin;  // in tokens_
    std::int64_t line;
    std::size_t file;  // in files_
  };

  /// Appends tokens [begin, end) of one document of another stream as a document.
  void copy(const TokenStream& from, std::int64_t document, std::int64_t begin, std::int64_t end);

  std::vector<std::int32_t> tokens_;
  std::vector<Document> documents_;
  std::vector<std::string> files_;
};

struct LoadedText {
  TokenStream stream;
  SkippedRows skipped;
};

/// Reads and tokenises all sources, each document followed by the tokenizer's eos. Errors are those
/// of read_documents().
LoadedText load_text(const std::vector<DataSource>& sources, const std::string& on_bad_row,
                     const Tokenizer& tokenizer);

/// Error(config) naming id, position and document of the first token that is not in
/// [0, vocab_rows), the rows of the model's embedding.
void check_ids(const TokenStream& stream, std::int64_t vocab_rows);

/// Cuts the last `part`, in (0, 1), off: between documents, as near as possible to that part of the
/// tokens; inside the document where there is only one: floor((1 - part) n) of its n tokens, not
/// counting its eos, stay. Returns {what stays, what was cut off}; Error(config) when either is
/// empty.
std::pair<TokenStream, TokenStream> split(const TokenStream& stream, double part);

}  // namespace muster::runtime
