// What one row has paid, in whole ticks of FeatureCosts, and what each further feature would cost it now.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace frugal {

struct TickPrices {
    std::vector<int64_t> own;                    // (n_features)
    std::vector<int64_t> shared;                 // (n_groups)
    std::vector<std::vector<int32_t>> groups_of;   // of each feature
    std::vector<std::vector<int32_t>> members_of;  // of each group
};

class Purse {
  public:
    explicit Purse(const TickPrices& prices) : prices_(&prices), marginal_(prices.own), is_paid_(prices.shared.size(), 0) {
        for (size_t f = 0; f < marginal_.size(); ++f)
            for (const int32_t g : prices.groups_of[f]) marginal_[f] += prices.shared[static_cast<size_t>(g)];
        is_flat_ = prices.shared.empty() && std::all_of(marginal_.begin(), marginal_.end(), [&](int64_t price) { return price > 0 && price == marginal_[0]; });
    }

    int64_t spent() const { return spent_; }
    int64_t price(size_t f) const { return marginal_[f]; }
    bool is_flat() const { return is_flat_; }  // every feature costs the same, always

    void buy(size_t f) {
        spent_ += marginal_[f];
        for (const int32_t g : prices_->groups_of[f]) {
            if (is_paid_[static_cast<size_t>(g)]) continue;
            is_paid_[static_cast<size_t>(g)] = 1;
            for (const int32_t member : prices_->members_of[static_cast<size_t>(g)])
                marginal_[static_cast<size_t>(member)] -= prices_->shared[static_cast<size_t>(g)];
        }
    }

  private:
    const TickPrices* prices_;
    std::vector<int64_t> marginal_;
    std::vector<uint8_t> is_paid_;
    int64_t spent_ = 0;
    bool is_flat_ = false;
};

}  // namespace frugal
