#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/bench/csv_report.hpp"
#include "runtime/bench/filtered_environment.hpp"
#include "runtime/bench/html_report.hpp"
#include "runtime/bench/json_report.hpp"
#include "runtime/control/report_file.hpp"
#include "tests/runtime/bench/sample_report.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ReportFile, CountsUpWhereAFileIsThere) {
  const TempDir folder;
  const std::string path = folder.write("a.json", "old");
  folder.write("a.json.0", "older");

  ReportFile file(path, ReportFile::IfThere::count_up);
  file.write("new");

  EXPECT_EQ(file.path(), path + ".1");
  EXPECT_EQ(read_all(path + ".1"), "new");
  EXPECT_EQ(read_all(path), "old");
}

TEST(ReportFile, ReplacesAllOfAFile) {
  const TempDir folder;
  const std::string path = folder.write("a.csv", "a longer text");

  ReportFile(path, ReportFile::IfThere::replace).write("new");

  EXPECT_EQ(read_all(path), "new");
}

TEST(ReportFile, LeavesNothingWhenItIsNotWritten) {
  const TempDir folder;
  const std::string old = folder.write("old", "text");
  {
    const ReportFile made(folder.path("new"), ReportFile::IfThere::replace);
    const ReportFile kept(old, ReportFile::IfThere::replace);
    EXPECT_TRUE(std::filesystem::exists(folder.path("new")));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("new")));
  EXPECT_EQ(read_all(old), "text");
}

TEST(ReportFile, IsRefusedAtOnceWhereItCannotBe) {
  EXPECT_THAT(
      error_text(ErrorCode::io, [] { ReportFile("/nonexistent/f", ReportFile::IfThere::replace); }),
      HasSubstr("/nonexistent/f: No such file"));
}

TEST(JsonReport, SaysWhichAlgorithmsWereChosenWhereThereIsAChoice) {
  BenchReport report = sample_report();
  EXPECT_FALSE(json::parse(json_report(report)).at("muster").contains("algo"));

  report.algorithms.emplace();
  EXPECT_EQ(json::parse(json_report(report)).at("muster").at("algo"), "auto");

  report.algorithms->use("all_reduce=tree");
  const json own = json::parse(json_report(report)).at("muster");
  EXPECT_EQ(own.at("algo"), "all_reduce=tree");
  EXPECT_EQ(collectives::AlgorithmTable::parse(own.at("algorithms").get<std::string>()),
            *report.algorithms);
}

TEST(JsonReport, HasTheKeysAndTypesOfNcclTests) {
  const json report = json::parse(json_report(sample_report()));

  EXPECT_EQ(report.at("version"), 3);
  EXPECT_EQ(report.at("config").at("step_factor"), 2);
  EXPECT_FALSE(report.at("config").contains("step_bytes"));
  EXPECT_EQ(report.at("config").at("blocking_collectives"), "false");
  EXPECT_EQ(report.at("config").at("devices").at(1).at("hostname"), "alpha");
  EXPECT_EQ(report.at("results").size(), 2);
  const json& row = report.at("results").at(1);
  EXPECT_EQ(row.at("size"), 2048);
  EXPECT_EQ(row.at("root"), "    -1");
  EXPECT_EQ(row.at("out_of_place").at("time"), 20.48);
  EXPECT_EQ(row.at("in_place").at("nwrong"), 0.0);
  EXPECT_EQ(row.at("muster").at("in_place_samples_us").size(), 4);
  EXPECT_EQ(report.at("out_of_bounds").at("okay"), "true");
  EXPECT_EQ(report.at("average_bus_bandwidth").at("okay"), "unchecked");
}

TEST(JsonReport, HasWhatWasAskedForOnTop) {
  BenchReport report = sample_report();
  report.options.cpu_time = true;
  report.options.percentiles = true;
  report.options.per_iteration_skip = 1;
  report.options.least_bandwidth = 9.0;
  report.rows[0].out_of_place.iterations_us = {{1.0, 3.0}, {2.0, 2.0}};
  report.rows[0].in_place.wrong.reset();
  report.rows[1].in_place.wrong = 1;
  report.rows[1].in_place.first_wrong = "rank 1: bad";
  report.fits = {{"all_reduce", "float sum", {.alpha_s = 1e-6, .points = 3}}};

  const json parsed = json::parse(json_report(report));

  const json& row = parsed.at("results").at(0);
  EXPECT_TRUE(row.at("out_of_place").contains("cpu_time"));
  EXPECT_TRUE(row.at("in_place").at("nwrong").is_null());
  EXPECT_EQ(row.at("out_of_place_per_iter").at("times_us"), json({2.0, 3.0}));
  EXPECT_EQ(row.at("out_of_place_per_iter").at("per_process_max_times_us").size(), 2);
  EXPECT_EQ(row.at("out_of_place_per_iter").at("skipped_iterations"), 1);
  EXPECT_EQ(parsed.at("average_bus_bandwidth").at("okay"), "false");
  EXPECT_EQ(parsed.at("errors").at(0), "all_reduce float 2048 B: rank 1: bad");
  EXPECT_EQ(parsed.at("muster").at("fits").at(0).at("points"), 3);
}

TEST(FilteredEnvironment, ShowsOnlyWhatMayBeShown) {
  EXPECT_THAT(
      filtered_environment({"PATH=/bin", "NCCL_DEBUG=INFO", "MUSTER_SECRET_FILE=/s", "OMP_X=1",
                            "SLURM_JOB_ID=7", "OMPI_MCA_btl=tcp", "MUSTER_RANK=0",
                            "NCCL_auth_token=t", "OMP_password_file=p", "MUSTER_API_KEY=k",
                            "AWS_REGION=x", "XNCCL_DEBUG=1", "HOME=/h"}),
      ElementsAre("MUSTER_RANK=0", "NCCL_DEBUG=INFO", "OMPI_MCA_btl=tcp", "OMP_X=1",
                  "SLURM_JOB_ID=7"));
}

TEST(FilteredEnvironment, HidesWhatIsNamedLikeASecret) {
  for (const char* name : {"MUSTER_DB_PASSWD", "OMPI_PASSPHRASE", "MUSTER_PROXY_AUTH",
                           "NCCL_CREDENTIALS", "SLURM_JWT", "OMP_COOKIE"}) {
    EXPECT_FALSE(is_shown_variable(name)) << name;
  }
}

TEST(FilteredEnvironment, LeavesOutWhoLogsIn) {
  EXPECT_THAT(
      filtered_environment({"NCCL_A=http://user:word@proxy:3128/x@y", "NCCL_B=s3://k:w@h",
                            "NCCL_C=tcp://h1/a@b,ssh://me@h2", "NCCL_D=a@b://", "NCCL_E=://"}),
      ElementsAre("NCCL_A=http://proxy:3128/x@y", "NCCL_B=s3://h", "NCCL_C=tcp://h1/a@b,ssh://h2",
                  "NCCL_D=a@b://", "NCCL_E=://"));
}

TEST(CsvReport, HasALinePerRow) {
  EXPECT_EQ(csv_report(sample_report()),
            "operation,bytes,count,type,redop,root,out_of_place_time_us,out_of_place_algbw_gbs,"
            "out_of_place_busbw_gbs,out_of_place_wrong,in_place_time_us,in_place_algbw_gbs,"
            "in_place_busbw_gbs,in_place_wrong\n"
            "all_reduce,1024,256,float,sum,-1,10.24,0.1,0.1,0,10.24,0.1,0.3,0\n"
            "all_reduce,2048,512,float,sum,-1,20.48,0.1,0.1,0,20.48,0.1,0.3,0\n");
}

TEST(HtmlReport, IsOnePageWithoutOutsideParts) {
  BenchReport report = sample_report();
  report.backend = "<shm>";
  report.pairs = PairMatrix{.latency_us = {{0.0, 1.5}, {1.5, 0.0}},
                            .bandwidth = {{0.0, 4.0}, {4.0, 0.0}},
                            .findings = {"Slow end: rank 1"}};

  const std::string page = html_report(report);

  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("&lt;shm&gt;"));
  EXPECT_THAT(page, HasSubstr("<td>2048</td>"));
  EXPECT_THAT(page, HasSubstr("title=\"rank 0 - rank 1\">1.5<"));
  EXPECT_THAT(page, HasSubstr("Slow end: rank 1"));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

}  // namespace
}  // namespace muster::runtime
