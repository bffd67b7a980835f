#include "runtime/dataset/job_data.hpp"

#include <string>

#include <gmock/gmock.h>

#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

JobConfig job_on(const std::string& path) {
  JobConfig job;
  job.data.train = {{path, "auto"}};
  job.data.seq_len = 4;
  return job;
}

TEST(JobData, ReadsTrainingTextAlone) {
  const TempDir dir;

  const JobData data =
      load_job_data(job_on(dir.write("a.txt", std::string(99, 'a'))), *make_byte_tokenizer(), 259);

  EXPECT_EQ(data.documents, 1);
  EXPECT_EQ(data.tokens, 100);
  EXPECT_EQ(data.train->samples_per_epoch(), 24);
  EXPECT_EQ(data.validation, nullptr);
}

TEST(JobData, SplitsValidationTextOff) {
  const TempDir dir;
  JobConfig job = job_on(dir.write("a.txt", std::string(100, 'a')));
  job.validation.split = 0.1;

  const JobData data = load_job_data(job, *make_byte_tokenizer(), 259);

  EXPECT_EQ(data.tokens, 90);
  EXPECT_EQ(data.validation_tokens, 11);
  EXPECT_EQ(data.validation->samples(), 3);
}

TEST(JobData, ReadsValidationTextFromAFileAndCountsSkippedRowsOfBoth) {
  const TempDir dir;
  JobConfig job = job_on(dir.write("a.jsonl", "{}\n{\"text\":\"abcd\"}\n"));
  job.validation.path = dir.write("v.jsonl", "{\"text\":\"x\"}\n[]\n{\"text\":\"y\"}\n");
  job.data.on_bad_row = "skip";

  const JobData data = load_job_data(job, *make_byte_tokenizer(), 259);

  EXPECT_EQ(data.validation_documents, 2);
  EXPECT_EQ(data.validation_tokens, 4);
  EXPECT_EQ(data.skipped.count, 2);
  EXPECT_THAT(data.skipped.first, HasSubstr("a.jsonl:1"));
}

TEST(JobData, RefusesATokenizerLargerThanTheModelBeforeAnyStep) {
  const TempDir dir;
  const std::string path = dir.write("a.txt", "abc");

  const std::string text = error_text(
      ErrorCode::config, [&] { load_job_data(job_on(path), *make_byte_tokenizer(), 256); });

  EXPECT_THAT(text, AllOf(HasSubstr("token id 257 (end of document) at token 4"),
                          HasSubstr(path + ":1"), HasSubstr("[0, 256)")));
}

TEST(JobData, PadsWithAnIdTheModelHas) {
  const TempDir dir;

  JobConfig job = job_on(dir.write("a.txt", "abcd"));
  job.validation.path = dir.write("v.txt", "a");

  const JobData data = load_job_data(job, *make_byte_tokenizer(), 258);
  MicroBatch batch(1, 4);
  data.validation->read(0, batch);

  for (const std::int32_t id : batch.tokens) EXPECT_LT(id, 258);
}

TEST(JobData, RefusesTrainingTextShorterThanOneSequence) {
  const TempDir dir;
  const std::string path = dir.write("a.txt", "abc");  // and its end: 4 tokens, 5 are needed

  const std::string text = error_text(
      ErrorCode::config, [&] { load_job_data(job_on(path), *make_byte_tokenizer(), 259); });

  EXPECT_THAT(text, AllOf(HasSubstr(path), HasSubstr("hold 4 tokens"), HasSubstr("needs 5")));
}

TEST(JobData, NamesAMissingValidationFile) {
  const TempDir dir;
  JobConfig job = job_on(dir.write("a.txt", "abcd"));
  job.validation.path = dir.path("none.txt");

  const std::string text =
      error_text(ErrorCode::config, [&] { load_job_data(job, *make_byte_tokenizer(), 259); });

  EXPECT_THAT(text, HasSubstr("none.txt"));
}

}  // namespace
}  // namespace muster::runtime
