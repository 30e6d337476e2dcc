// What a split is charged while a tree grows: the training-time proxy of FeatureCosts (Python adds up real bills).
//
// Growing asks four things: what does a split on this feature cost here (price), may the tree still take it (allows),
// what has become free (take), and start again for a new tree (reset).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tree.hpp"

namespace frugal {

enum class Charge { always, path, forest, ledger };

// Costs as FeatureCosts has them: cost(S) = sum of own + sum of shared over the groups S touches.
struct CostTable {
    size_t n_features = 0, n_groups = 0;
    const double* own = nullptr;            // (n_features)
    const double* shared = nullptr;         // (n_groups)
    const int64_t* group_offsets = nullptr;  // (n_features + 1): groups of feature f are group_ids[offsets[f] .. offsets[f + 1]]
    const int32_t* group_ids = nullptr;
    Charge charge = Charge::always;
    double repeat_charge = 1;
    double max_tree_cost = std::numeric_limits<double>::infinity();
    uint32_t max_distinct_features = 0xFFFFFFFFu;
    const uint8_t* paid = nullptr;          // (n_rows, n_features), charge "forest": what each row has paid in earlier trees
    const uint8_t* paid_groups = nullptr;   // (n_rows, n_groups)
    const uint8_t* ledger = nullptr;        // (n_features), charge "ledger": what the trees before this one have bought

    template <class Visit>
    void for_groups(uint32_t f, Visit&& visit) const {
        for (int64_t i = group_offsets[f]; i < group_offsets[f + 1]; ++i) visit(static_cast<uint32_t>(group_ids[i]));
    }
};

// A set of features bought together with the groups they touch.
class Basket {
  public:
    explicit Basket(const CostTable& costs) : costs_(costs), has_(costs.n_features, 0), touched_(costs.n_groups, 0) {}

    bool has(uint32_t f) const { return has_[f]; }
    uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
    double cost() const { return cost_; }

    double marginal(uint32_t f) const {
        if (has_[f]) return 0;
        double cost = costs_.own[f];
        costs_.for_groups(f, [&](uint32_t g) { cost += touched_[g] ? 0 : costs_.shared[g]; });
        return cost;
    }

    void add(uint32_t f) {
        if (has_[f]) return;
        cost_ += marginal(f);
        has_[f] = 1;
        members_.push_back(f);
        costs_.for_groups(f, [&](uint32_t g) { touched_[g] = 1; });
    }

    void clear() {
        for (uint32_t f : members_) {
            has_[f] = 0;
            costs_.for_groups(f, [&](uint32_t g) { touched_[g] = 0; });
        }
        members_.clear();
        cost_ = 0;
    }

  private:
    const CostTable& costs_;
    std::vector<uint8_t> has_, touched_;
    std::vector<uint32_t> members_;
    double cost_ = 0;
};

class Prices {
  public:
    explicit Prices(const CostTable& costs) : costs_(costs), paid_(costs), tree_(costs), alone_(costs.n_features) {
        for (uint32_t f = 0; f < costs.n_features; ++f) alone_[f] = tree_.marginal(f);
        price_ = alone_;
        limited_ = costs.max_distinct_features < costs.n_features ||
                   costs.max_tree_cost < std::numeric_limits<double>::infinity();
        equal_ = costs.charge == Charge::always &&
                 std::all_of(alone_.begin(), alone_.end(), [this](double price) { return price == alone_[0]; });
    }

    double price(uint32_t f) const { return price_[f]; }
    bool are_equal() const { return equal_; }  // of all features, in every node

    bool allows(uint32_t f) const {
        if (!limited_ || tree_.has(f)) return true;
        return tree_.size() < costs_.max_distinct_features &&
               tree_.cost() + tree_.marginal(f) <= costs_.max_tree_cost * (1 + 1e-12);
    }

    void reset_tree() {
        tree_.clear();
        price_ = alone_;
        if (costs_.charge == Charge::ledger) open_ledger();
    }

    // Called before the splits of `node` are compared.
    void enter_node(const Tree& tree, uint32_t node) {
        if (costs_.charge != Charge::path) return;
        paid_.clear();
        for (uint32_t v = tree.parent[node]; v != kNoParent; v = tree.parent[v])
            paid_.add(static_cast<uint32_t>(tree.feature[v]));
        price_marginally();
    }

    // The same for charge "forest": rows (and how often each counts) decide the mean marginal cost.
    template <class Rows>
    void enter_node_rows(const Rows& rows, double size) {
        std::vector<double> unpaid(costs_.n_features, 0), unpaid_groups(costs_.n_groups, 0);
        for (const auto& item : rows) {
            const uint8_t* paid = costs_.paid + size_t{item.row} * costs_.n_features;
            const uint8_t* groups = costs_.paid_groups + size_t{item.row} * costs_.n_groups;
            for (size_t f = 0; f < costs_.n_features; ++f) unpaid[f] += paid[f] ? 0 : item.draws;
            for (size_t g = 0; g < costs_.n_groups; ++g) unpaid_groups[g] += groups[g] ? 0 : item.draws;
        }
        for (uint32_t f = 0; f < costs_.n_features; ++f) {
            double marginal = costs_.own[f] * unpaid[f];
            costs_.for_groups(f, [&](uint32_t g) { marginal += costs_.shared[g] * unpaid_groups[g]; });
            set_blended(f, marginal / size);
        }
    }

    void take(uint32_t f) {
        if (limited_) tree_.add(f);
        if (costs_.charge != Charge::ledger || paid_.has(f)) return;
        paid_.add(f);
        price_marginally();
    }

  private:
    void open_ledger() {
        paid_.clear();
        for (uint32_t f = 0; f < costs_.n_features; ++f)
            if (costs_.ledger[f]) paid_.add(f);
        price_marginally();
    }

    void price_marginally() {
        for (uint32_t f = 0; f < costs_.n_features; ++f) set_blended(f, paid_.marginal(f));
    }

    void set_blended(uint32_t f, double marginal) {
        price_[f] = costs_.repeat_charge * alone_[f] + (1 - costs_.repeat_charge) * marginal;
    }

    const CostTable& costs_;
    Basket paid_, tree_;  // paid_: on the path to the node, or by all trees so far
    std::vector<double> alone_, price_;
    bool limited_ = false, equal_ = false;
};

}  // namespace frugal
