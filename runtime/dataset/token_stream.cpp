#include "runtime/dataset/token_stream.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

/// The number of documents, at least one and not all, whose tokens end nearest to `wanted`.
std::int64_t documents_before(const TokenStream& stream, double wanted) {
  std::int64_t best = 1;
  for (std::int64_t count = 1; count < stream.documents(); ++count) {
    const auto distance = [&](std::int64_t n) {
      return std::abs(static_cast<double>(stream.end_of(n - 1)) - wanted);
    };
    if (distance(count) < distance(best)) best = count;
  }
  return best;
}

/// How many of the n tokens of the only document stay when the last `part` is cut off.
std::int64_t tokens_before(const TokenStream& stream, double part) {
  const std::int64_t n = stream.size() - 1;
  const auto kept = static_cast<std::int64_t>(std::floor((1.0 - part) * static_cast<double>(n)));
  if (kept < 1 || kept >= n) {
    throw Error(ErrorCode::config,
                fmt::format("validation.split = {} of the {} tokens of {} leaves {} for training "
                            "and {} for validation; both need one at least",
                            part, n, stream.place_of(0), kept, n - kept));
  }
  return kept;
}

}  // namespace

void TokenStream::add(std::span<const std::int32_t> ids, std::string_view file, std::int64_t line) {
  MUSTER_ASSERT(!ids.empty());
  if (files_.empty() || files_.back() != file) files_.emplace_back(file);
  documents_.push_back({size(), line, files_.size() - 1});
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
}

std::int64_t TokenStream::begin_of(std::int64_t document) const noexcept {
  return documents_[static_cast<std::size_t>(document)].begin;
}

std::int64_t TokenStream::end_of(std::int64_t document) const noexcept {
  return document + 1 < documents() ? begin_of(document + 1) : size();
}

std::string TokenStream::place_of(std::int64_t document) const {
  const Document& found = documents_[static_cast<std::size_t>(document)];
  return fmt::format("{}:{}", files_[found.file], found.line);
}

std::int64_t TokenStream::document_at(std::int64_t position) const noexcept {
  const auto behind = std::ranges::upper_bound(documents_, position, {}, &Document::begin);
  return behind - documents_.begin() - 1;
}

void TokenStream::copy(const TokenStream& from, std::int64_t document, std::int64_t begin,
                       std::int64_t end) {
  const Document& found = from.documents_[static_cast<std::size_t>(document)];
  const auto ids =
      from.tokens().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  add(ids, from.files_[found.file], found.line);
}

LoadedText load_text(const std::vector<DataSource>& sources, const std::string& on_bad_row,
                     const Tokenizer& tokenizer) {
  LoadedText loaded;
  for (const DataSource& source : sources) {
    const SkippedRows skipped =
        read_documents(source, on_bad_row, [&](std::string_view text, std::int64_t line) {
          std::vector<std::int32_t> ids = tokenizer.encode(text);
          ids.push_back(tokenizer.eos());
          loaded.stream.add(ids, source.path, line);
        });
    if (loaded.skipped.count == 0) loaded.skipped.first = skipped.first;
    loaded.skipped.count += skipped.count;
  }
  return loaded;
}

void check_ids(const TokenStream& stream, std::int64_t vocab_rows) {
  const auto tokens = stream.tokens();
  const auto bad =
      std::ranges::find_if(tokens, [&](std::int32_t id) { return id < 0 || id >= vocab_rows; });
  if (bad == tokens.end()) return;
  const std::int64_t position = bad - tokens.begin();
  const std::int64_t document = stream.document_at(position);
  const bool is_last = position + 1 == stream.end_of(document);
  throw Error(
      ErrorCode::config,
      fmt::format("token id {}{} at token {} of the document that begins at {} is outside "
                  "the model's vocabulary [0, {}); raise model.vocab or use the tokenizer "
                  "the model was made with",
                  *bad, is_last ? " (end of document)" : "",
                  position - stream.begin_of(document) + 1, stream.place_of(document), vocab_rows));
}

std::pair<TokenStream, TokenStream> split(const TokenStream& stream, double part) {
  std::pair<TokenStream, TokenStream> parts;
  if (stream.documents() == 1) {
    const std::int64_t kept = tokens_before(stream, part);
    parts.first.copy(stream, 0, 0, kept);
    parts.second.copy(stream, 0, kept, stream.size());
    return parts;
  }
  const std::int64_t kept =
      documents_before(stream, (1.0 - part) * static_cast<double>(stream.size()));
  for (std::int64_t document = 0; document < stream.documents(); ++document) {
    TokenStream& part_of_it = document < kept ? parts.first : parts.second;
    part_of_it.copy(stream, document, stream.begin_of(document), stream.end_of(document));
  }
  return parts;
}

}  // namespace muster::runtime
