// Calibrations of the speed models: fits them to published serving benchmarks, says how far they are off
// points they have not seen, and what a query costs. docs/models.md shows the commands.

#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>

#include "bench/fits/fits.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Fits and errors of the speed models"};
  app.require_subcommand(1);
  std::filesystem::path data;
  auto* fit = app.add_subcommand("fit", "Print placement/catalogue/calibrations.cpp");
  auto* hold_out = app.add_subcommand("holdout", "Print the tables of docs/models.md");
  for (auto* command : {fit, hold_out})
    command->add_option("--data", data, "Folder with bench/*.csv")->required()->check(CLI::ExistingDirectory);
  CLI11_PARSE(app, argc, argv);
  try {
    const auto groups = fareway::read_benchmark_groups(data);
    const auto fits = fareway::group_fits(groups);
    const auto pooled = fareway::pooled_fits(groups, fits);
    const auto data_sheet = fareway::data_sheet_errors(groups, fits);
    if (fit->parsed()) {
      std::cout << fareway::calibrations_source(fareway::newest_fits(fits), pooled, data_sheet);
    } else {
      std::cout << fareway::hold_out_tables(fits, pooled, data_sheet);
    }
  } catch (const std::exception& error) {
    std::cerr << "bench_fits: " << error.what() << '\n';
    return 1;
  }
}
