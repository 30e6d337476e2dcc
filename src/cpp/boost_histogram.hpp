// Histograms of a node: for every column and bin the sums of gradients and curvatures, and the number of rows.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "boost_loss.hpp"
#include "boost_rows.hpp"

namespace frugal {

// Which columns of the rows a tree reads, and where each one's cells begin.
struct ColumnChoice {
    std::vector<uint32_t> columns;  // ascending
    std::vector<uint32_t> offsets;  // (n_columns)
    size_t n_cells = 0;
    bool is_all = true;

    ColumnChoice(const RowCodes& rows, std::vector<uint32_t> chosen) : columns(std::move(chosen)), is_all(columns.size() == rows.n_columns()) {
        for (const uint32_t column : columns) {
            offsets.push_back(static_cast<uint32_t>(n_cells));
            n_cells += rows.n_cells(column);
        }
    }
    size_t size() const { return columns.size(); }
};

// Adds rows to a histogram. Whole numbers: the same sums in any order, on any number of threads.
inline void add_rows(const RowCodes& codes, const ColumnChoice& choice, const uint32_t* rows, size_t n, const Cell* cells,
                     Cell* histogram /* OUT, added to */) {
    constexpr size_t kAhead = 16;
    const size_t n_columns = choice.size();
    const uint32_t* columns = choice.columns.data();
    const uint32_t* offsets = choice.offsets.data();
    const auto add = [&](size_t i, auto code_at) {
        if (i + kAhead < n) {
            __builtin_prefetch(codes.row(rows[i + kAhead]));
            __builtin_prefetch(cells + rows[i + kAhead]);
        }
        const Cell cell = cells[rows[i]];
        const uint8_t* row = codes.row(rows[i]);
        for (size_t j = 0; j < n_columns; ++j) {
            Cell& sum = histogram[offsets[j] + code_at(row, j)];
            sum = sum + cell;
        }
    };
    if (choice.is_all)
        for (size_t i = 0; i < n; ++i) add(i, [](const uint8_t* row, size_t j) { return row[j]; });
    else
        for (size_t i = 0; i < n; ++i) add(i, [columns](const uint8_t* row, size_t j) { return row[columns[j]]; });
}

// Room for histograms, used again and again. Beyond the limit there is none, and a node is counted from its rows.
class HistogramPool {
  public:
    void start(size_t n_cells, uint64_t most_bytes) {
        most_bytes_ = most_bytes;
        if (n_cells != n_cells_) {
            all_.clear();
            n_cells_ = n_cells;
        }
        free_.clear();
        for (auto& one : all_) free_.push_back(one.get());
    }

    Cell* take() {
        if (free_.empty() && (all_.size() + 1) * n_cells_ * sizeof(Cell) <= most_bytes_) {
            all_.push_back(std::make_unique<Cell[]>(n_cells_));
            free_.push_back(all_.back().get());
        }
        if (free_.empty()) return nullptr;
        Cell* one = free_.back();
        free_.pop_back();
        return one;
    }

    void give_back(Cell* one) {
        if (one) free_.push_back(one);
    }

  private:
    uint64_t most_bytes_ = 0;
    size_t n_cells_ = 0;
    std::vector<std::unique_ptr<Cell[]>> all_;
    std::vector<Cell*> free_;
};

}  // namespace frugal
