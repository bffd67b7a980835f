#pragma once

#include <cstdint>
#include <memory>

#include "runtime/config/job.hpp"
#include "runtime/dataset/samples.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace muster::runtime {

/// The text of a job, ready to be read, and what to tell its user about it.
struct JobData {
  std::shared_ptr<const TrainingSet> train;         // shared with the loader's thread
  std::shared_ptr<const ValidationSet> validation;  // none when the job has none
  std::int64_t documents = 0;
  std::int64_t tokens = 0;  // with one end of document each
  std::int64_t validation_documents = 0;
  std::int64_t validation_tokens = 0;
  SkippedRows skipped;
};

/// Reads training and validation text, splits it if asked, and checks it against a model whose
/// embedding has `vocab_rows` rows, all before any training. Errors are those of read_documents(),
/// check_ids() and split().
JobData load_job_data(const JobConfig& job, const Tokenizer& tokenizer, std::int64_t vocab_rows);

}  // namespace muster::runtime
