#include "runtime/dataset/job_data.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

struct Streams {
  TokenStream train;
  std::optional<TokenStream> validation;
  SkippedRows skipped;
};

Streams load_streams(const JobConfig& job, const Tokenizer& tokenizer) {
  LoadedText text = load_text(job.data.train, job.data.on_bad_row, tokenizer);
  Streams streams{.train = {}, .validation = std::nullopt, .skipped = text.skipped};
  if (job.validation.split > 0) {
    auto [train, validation] = split(text.stream, job.validation.split);
    streams.train = std::move(train);
    streams.validation = std::move(validation);
    return streams;
  }
  streams.train = std::move(text.stream);
  if (!job.validation.path.empty()) {
    LoadedText held_out =
        load_text({{.path = job.validation.path}}, job.data.on_bad_row, tokenizer);
    streams.validation = std::move(held_out.stream);
    if (streams.skipped.count == 0) streams.skipped.first = held_out.skipped.first;
    streams.skipped.count += held_out.skipped.count;
  }
  return streams;
}

/// Training on less than one sequence would repeat the same few tokens for ever.
void check_length(const TokenStream& stream, const JobConfig& job) {
  const std::int64_t needed = job.data.seq_len + 1;
  if (stream.size() >= needed) return;
  throw Error(ErrorCode::config,
              fmt::format("{} and all other training text hold {} tokens; one sequence of "
                          "data.seq_len = {} needs {}; give more text or lower data.seq_len",
                          stream.place_of(0), stream.size(), job.data.seq_len, needed));
}

}  // namespace

JobData load_job_data(const JobConfig& job, const Tokenizer& tokenizer, std::int64_t vocab_rows) {
  Streams streams = load_streams(job, tokenizer);
  check_ids(streams.train, vocab_rows);
  // Padding is looked up in the embedding but counts for nothing: any id the model has will do.
  const std::int32_t pad = tokenizer.pad() < vocab_rows ? tokenizer.pad() : 0;

  JobData data;
  data.skipped = std::move(streams.skipped);
  data.documents = streams.train.documents();
  data.tokens = streams.train.size();
  if (streams.validation) {
    check_ids(*streams.validation, vocab_rows);
    data.validation_documents = streams.validation->documents();
    data.validation_tokens = streams.validation->size();
    auto stream = std::make_shared<const TokenStream>(std::move(*streams.validation));
    data.validation =
        std::make_shared<const ValidationSet>(RowCutter(std::move(stream), pad), job.data.seq_len);
  }
  check_length(streams.train, job);
  auto stream = std::make_shared<const TokenStream>(std::move(streams.train));
  data.train = std::make_shared<const TrainingSet>(RowCutter(std::move(stream), pad),
                                                   job.data.seq_len, job.job.seed);
  return data;
}

}  // namespace muster::runtime
