// Binned rows as boosting reads them: codes by column (as Python has them) and, for histograms, by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "tree.hpp"

namespace frugal {

// Codes by column; nothing is owned.
struct CodeTable {
    size_t n_rows = 0, n_features = 0;
    const uint8_t* codes = nullptr;           // (n_features, n_rows), 255: missing
    const int32_t* n_bins = nullptr;          // (n_features)
    const uint8_t* is_categorical = nullptr;  // (n_features)

    const uint8_t* column(size_t f) const { return codes + f * n_rows; }
};

// The features that can split anything, row by row; one column for each. Missing is bin n_bins here, not 255, so that the
// histogram of a feature is n_bins + 1 cells in one piece.
class RowCodes {
  public:
    RowCodes(const CodeTable& table, int n_threads) : table_(table) {
        find_columns(n_threads);
        stride_ = stride_for(features_.size());
        buffer_.resize(table.n_rows * stride_ + kLine);
        first_ = buffer_.data() + (kLine - reinterpret_cast<uintptr_t>(buffer_.data()) % kLine) % kLine;
        const size_t n_blocks = (table.n_rows + kBlock - 1) / kBlock;
        parallel_for(n_blocks, n_threads, [&](size_t b) { transpose(b * kBlock, std::min(table.n_rows, (b + 1) * kBlock)); });
    }
    RowCodes(const RowCodes&) = delete;
    RowCodes& operator=(const RowCodes&) = delete;

    const CodeTable& table() const { return table_; }
    size_t n_columns() const { return features_.size(); }
    uint32_t feature(size_t column) const { return features_[column]; }
    size_t n_cells(size_t column) const { return static_cast<size_t>(table_.n_bins[features_[column]]) + 1; }
    size_t stride() const { return stride_; }
    const uint8_t* row(size_t r) const { return first_ + r * stride_; }

  private:
    static constexpr size_t kLine = 64, kBlock = 256;

    void find_columns(int n_threads) {
        std::vector<uint8_t> varies(table_.n_features, 0);
        parallel_for(table_.n_features, n_threads, [&](size_t f) {
            const uint8_t* column = table_.column(f);
            varies[f] = std::any_of(column, column + table_.n_rows, [&](uint8_t code) { return code != column[0]; });
        });
        for (uint32_t f = 0; f < table_.n_features; ++f)
            if (varies[f]) features_.push_back(f);
    }

    // A row of up to 64 bytes lies in one line of the cache.
    static size_t stride_for(size_t n_columns) {
        if (n_columns > kLine) return (n_columns + kLine - 1) / kLine * kLine;
        size_t stride = 8;
        while (stride < n_columns) stride *= 2;
        return stride;
    }

    void transpose(size_t begin, size_t end) {
        for (size_t j = 0; j < features_.size(); ++j) {
            const uint8_t* column = table_.column(features_[j]);
            const auto missing = static_cast<uint8_t>(table_.n_bins[features_[j]]);
            for (size_t r = begin; r < end; ++r) first_[r * stride_ + j] = column[r] == kMissing ? missing : column[r];
        }
    }

    CodeTable table_;
    std::vector<uint32_t> features_;
    size_t stride_ = 0;
    std::vector<uint8_t> buffer_;
    uint8_t* first_ = nullptr;
};

}  // namespace frugal
