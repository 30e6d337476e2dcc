// Training data and prices as Python hands them over: arrays are kept alive, not copied.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "bindings.hpp"
#include "histogram.hpp"
#include "minimax.hpp"

namespace frugal {

// Binned training data with everything the engines derive from it once. Arrays are kept alive, not copied.
class TrainingSet {
  public:
    TrainingSet(Matrix<uint8_t> codes, Vector<int32_t> n_bins, Vector<uint8_t> is_categorical, Vector<double> edges,
                Vector<int64_t> edge_offsets, Vector<double> bin_min, Vector<double> bin_max, Vector<int64_t> bin_offsets,
                std::optional<Vector<int32_t>> labels, std::optional<Vector<double>> targets,
                std::optional<Vector<double>> weighted_targets, std::optional<Vector<double>> weights, Vector<double> class_weight)
        : arrays_{codes, n_bins, is_categorical, edges, edge_offsets, bin_min, bin_max, bin_offsets, class_weight},
          labels_(labels),
          targets_(targets),
          weighted_targets_(weighted_targets),
          weights_(weights) {
        const size_t m = codes.shape(0), n = codes.shape(1);
        const auto fits = [&](const auto& array, size_t size) { return !array || array->shape(0) == size; };
        if (n_bins.shape(0) != m || is_categorical.shape(0) != m || edge_offsets.shape(0) != m + 1 ||
            bin_offsets.shape(0) != m + 1 || !fits(labels, n) || !fits(targets, n) || !fits(weights, n) ||
            !fits(weighted_targets, n) || bool(targets) != bool(weighted_targets) || bool(labels) == bool(targets) || n >= 0xFFFFFFF0u)
            throw std::invalid_argument("TrainingSet: arrays of different sizes");
        data = {n,
                m,
                static_cast<int>(class_weight.shape(0)),
                codes.data(),
                n_bins.data(),
                is_categorical.data(),
                edges.data(),
                edge_offsets.data(),
                bin_min.data(),
                bin_max.data(),
                bin_offsets.data(),
                labels ? labels->data() : nullptr,
                targets ? targets->data() : nullptr,
                weighted_targets ? weighted_targets->data() : nullptr,
                weights ? weights->data() : nullptr,
                class_weight.data()};
    }

    const ClassOrder& class_order() {
        if (!class_order_) class_order_ = std::make_unique<ClassOrder>(data);
        return *class_order_;
    }

    const RowMajorCodes& row_major() {
        if (!row_major_) row_major_ = std::make_unique<RowMajorCodes>(data);
        return *row_major_;
    }

    TrainingData data;

  private:
    std::tuple<Matrix<uint8_t>, Vector<int32_t>, Vector<uint8_t>, Vector<double>, Vector<int64_t>, Vector<double>,
               Vector<double>, Vector<int64_t>, Vector<double>>
        arrays_;
    std::optional<Vector<int32_t>> labels_;
    std::optional<Vector<double>> targets_, weighted_targets_, weights_;
    std::unique_ptr<ClassOrder> class_order_;
    std::unique_ptr<RowMajorCodes> row_major_;
};

class Costs {
  public:
    Costs(Vector<double> own, Vector<double> shared, Vector<int64_t> group_offsets, Vector<int32_t> group_ids)
        : own_(own), shared_(shared), group_offsets_(group_offsets), group_ids_(group_ids) {
        if (group_offsets.shape(0) != own.shape(0) + 1) throw std::invalid_argument("Costs: arrays of different sizes");
        table.n_features = own.shape(0);
        table.n_groups = shared.shape(0);
        table.own = own.data();
        table.shared = shared.data();
        table.group_offsets = group_offsets.data();
        table.group_ids = group_ids.data();
    }

    void set_paid(Matrix<uint8_t> paid, Matrix<uint8_t> paid_groups) {
        if (paid.shape(1) != table.n_features || paid_groups.shape(1) != table.n_groups || paid.shape(0) != paid_groups.shape(0))
            throw std::invalid_argument("Costs: arrays of different sizes");
        paid_ = paid;
        paid_groups_ = paid_groups;
        table.paid = paid.data();
        table.paid_groups = paid_groups.data();
    }

    void set_ledger(Vector<uint8_t> ledger) {
        if (ledger.shape(0) != table.n_features) throw std::invalid_argument("Costs: arrays of different sizes");
        ledger_ = ledger;
        table.ledger = ledger.data();
    }

    CostTable table;

  private:
    Vector<double> own_, shared_;
    Vector<int64_t> group_offsets_;
    Vector<int32_t> group_ids_;
    std::optional<Matrix<uint8_t>> paid_, paid_groups_;
    std::optional<Vector<uint8_t>> ledger_;
};

}  // namespace frugal
