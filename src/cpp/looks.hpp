// What can still be reached below the two children of each waiting tree's cursor, given what is known.
#pragma once

#include "leaf_sets.hpp"

namespace frugal {

// Least and largest lead of one class over another, in steps of the grid.
struct Lead {
    int32_t least, largest;
};

class Looks {
  public:
    // sets: nullptr, or those of the trees.
    Looks(const Reachable& trees, const LeafSets* sets, uint32_t most_visits)
        : trees_(&trees),
          sets_(most_visits < kEnoughVisits ? nullptr : sets),
          width_(trees.width()),
          most_visits_(most_visits),
          is_stale_(trees.n_trees, 1),
          reads_(trees.n_trees, 0),
          ranges_(trees.is_narrow() ? 2 * trees.n_trees : 0),
          leads_(trees.is_narrow() ? 0 : 2 * trees.n_trees * 2 * width_),
          visits_(2 * trees.n_trees) {
        if (sets_) reachable_ = sets_->all();
    }

    // Forgets everything: another row begins.
    void restart(int32_t leader) {
        leader_ = leader;
        has_looked_ = false;
        std::fill(is_stale_.begin(), is_stale_.end(), 1);
        if (sets_) reachable_ = sets_->all();
    }

    bool is_stale(int32_t t) const { return sets_ || is_stale_[static_cast<size_t>(t)]; }
    void forget(int32_t t) { is_stale_[static_cast<size_t>(t)] = 1; }

    // The leads of wide trees were those of the leader, and only over rivals that were open.
    void lead_by(int32_t leader) {
        leader_ = leader;
        if (!trees_->is_narrow()) std::fill(is_stale_.begin(), is_stale_.end(), 1);
    }

    // A feature became known: what was found in trees that could still read it is not the best any more.
    void take(const Knowledge& knowledge, int32_t f) {
        if (sets_) return sets_->narrow(knowledge, f, reachable_.data());
        if (!has_looked_) return;
        const uint64_t bit = Reachable::bit(f);
        for (size_t t = 0; t < is_stale_.size(); ++t) is_stale_[t] |= (reads_[t] & bit) != 0;
    }

    // Looks below the cursors of some trees, side by side, a step each, so that they wait for memory together.
    void look(const Knowledge& knowledge, const int32_t* trees, size_t n, const std::vector<int32_t>& cursor) {
        has_looked_ = true;
        if (sets_) return look_by_sets(trees, n, cursor);
        ways_.clear();
        for (size_t a = 0; a < n; ++a) start(trees[a], cursor[static_cast<size_t>(trees[a])]);
        trees_->with_size([&](auto is_small) {
            while (!ways_.empty()) {
                next_ways_.clear();
                for (const Way& way : ways_) go_on<is_small>(knowledge, way);
                ways_.swap(next_ways_);
            }
        });
    }

    // What the tree adds to the lead over a rival in its left (0) or right (1) child. OUT is valid after a look.
    Lead below(int32_t t, size_t side, size_t slot) const {
        const size_t place = 2 * static_cast<size_t>(t) + side;
        if (trees_->is_narrow()) return narrow_lead(t, slot, ranges_[place].low, ranges_[place].high);
        const int16_t* leads = leads_.data() + place * 2 * width_;
        return {leads[slot], leads[width_ + slot]};
    }

    // The same over all leaves below a node, whatever is known.
    Lead whole(int32_t t, int32_t i, size_t slot) const {
        if (trees_->is_narrow()) return narrow_lead(t, slot, trees_->range(i).low, trees_->range(i).high);
        const auto leader = static_cast<size_t>(leader_);
        return {trees_->steps(i, leader) - trees_->steps(i, width_ + slot), trees_->steps(i, width_ + leader) - trees_->steps(i, slot)};
    }

  private:
    static constexpr uint32_t kEnoughVisits = 64;  // a policy that allows so many may as well see small trees as a whole

    struct Leads8 {
        int16_t least[8], largest[8];
    };
    struct Way {
        int32_t node;
        int32_t place;  // 2 * tree + side
    };
    Lead narrow_lead(int32_t t, size_t slot, int32_t low, int32_t high) const {
        const int32_t channel = trees_->channel_of(static_cast<size_t>(t));
        const bool is_leading = trees_->n_channels == 1 ? leader_ == 1 : channel == leader_;
        if (is_leading) return {low, high};
        return channel == static_cast<int32_t>(slot) ? Lead{-high, -low} : Lead{0, 0};
    }

    void look_by_sets(const int32_t* trees, size_t n, const std::vector<int32_t>& cursor) {
        for (size_t a = 0; a < n; ++a) {
            const auto t = static_cast<size_t>(trees[a]);
            const uint64_t left = reachable_[t] & sets_->left_of(cursor[t]);
            ranges_[2 * t] = sets_->extremes(t, left);
            ranges_[2 * t + 1] = sets_->extremes(t, reachable_[t] & ~left);
        }
    }

    void start(int32_t t, int32_t cursor) {
        is_stale_[static_cast<size_t>(t)] = 0;
        reads_[static_cast<size_t>(t)] = 0;
        const int32_t children[2] = {cursor + 1, trees_->node(cursor).right};
        for (int32_t side = 0; side < 2; ++side) {
            const int32_t place = 2 * t + side;
            visits_[static_cast<size_t>(place)] = most_visits_;
            clear(static_cast<size_t>(place));
            ways_.push_back({children[side], place});
            trees_->prefetch(children[side]);
        }
    }

    template <bool is_small>
    void go_on(const Knowledge& knowledge, const Way& way) {
        const Reachable::Node& node = trees_->node(way.node);
        const auto place = static_cast<size_t>(way.place);
        uint64_t& reads = reads_[place / 2];
        // A leaf, a subtree of which nothing is known, or one too many: what the subtree holds at all is a bound too.
        if (!(node.below & knowledge.bits()) || visits_[place] == 0) {
            reads |= node.below;
            return widen<is_small>(place, way.node);
        }
        --visits_[place];
        if (const int32_t following = knowledge.child(way.node); following >= 0) {
            next_ways_.push_back({following, way.place});
            return trees_->prefetch(following);
        }
        if (!can_widen<is_small>(place, way.node)) return;
        reads |= Reachable::bit(node.feature);
        next_ways_.push_back({way.node + 1, way.place});
        next_ways_.push_back({node.right, way.place});
        trees_->prefetch(node.right);
    }

    // ---- what was found, by 2 * tree + side

    void clear(size_t place) {
        if (trees_->is_narrow()) {
            ranges_[place] = {std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()};
            return;
        }
        constexpr int16_t kBeyond = std::numeric_limits<int16_t>::max();  // of every lead
        int16_t* least = leads_.data() + place * 2 * width_;
        std::fill_n(least, width_, kBeyond);
        std::fill_n(least + width_, width_, static_cast<int16_t>(-kBeyond));
    }

    template <bool is_small>
    void widen(size_t place, int32_t i) {
        if (trees_->is_narrow()) {
            LeafSets::Extremes& found = ranges_[place];
            found.low = std::min(found.low, trees_->range<is_small>(i).low);
            found.high = std::max(found.high, trees_->range<is_small>(i).high);
            return;
        }
        for (size_t first = 0; first < width_; first += 8) {
            const Leads8 leads = leads_over<is_small>(i, first);
            int16_t *least = leads_.data() + place * 2 * width_ + first, *largest = least + width_;
            for (size_t c = 0; c < 8; ++c) {
                least[c] = std::min(least[c], leads.least[c]);
                largest[c] = std::max(largest[c], leads.largest[c]);
            }
        }
    }

    // Whether a leaf below the node could be beyond what was found already.
    template <bool is_small>
    bool can_widen(size_t place, int32_t i) const {
        if (trees_->is_narrow()) return trees_->range<is_small>(i).low < ranges_[place].low || trees_->range<is_small>(i).high > ranges_[place].high;
        int16_t beyond = 0;
        for (size_t first = 0; first < width_; first += 8) {
            const Leads8 leads = leads_over<is_small>(i, first);
            const int16_t *least = leads_.data() + place * 2 * width_ + first, *largest = least + width_;
            for (size_t c = 0; c < 8; ++c)
                beyond |= static_cast<int16_t>((leads.least[c] < least[c]) | (leads.largest[c] > largest[c]));
        }
        return beyond != 0;
    }

    // Leads over eight classes below a node of a wide tree.
    template <bool is_small>
    Leads8 leads_over(int32_t i, size_t first) const {
        const Reachable::Eight low = trees_->eight<is_small>(i, first), high = trees_->eight<is_small>(i, width_ + first);
        const auto leader = static_cast<size_t>(leader_);
        const int16_t low_leader = trees_->steps<is_small>(i, leader), high_leader = trees_->steps<is_small>(i, width_ + leader);
        Leads8 leads;
        for (size_t c = 0; c < 8; ++c) {
            leads.least[c] = static_cast<int16_t>(low_leader - high[c]);
            leads.largest[c] = static_cast<int16_t>(high_leader - low[c]);
        }
        return leads;
    }

    const Reachable* trees_;
    const LeafSets* sets_;
    size_t width_;
    uint32_t most_visits_;
    int32_t leader_ = 0;
    bool has_looked_ = false;
    std::vector<uint64_t> reachable_;  // (n_trees): leaves, if there are sets of them
    std::vector<uint8_t> is_stale_;  // (n_trees): something is known below the cursor that was not when it was looked at
    std::vector<uint64_t> reads_;    // (n_trees): features that the part seen by the last look can still read, as bits
    std::vector<LeafSets::Extremes> ranges_;   // (n_trees, 2), of narrow trees
    std::vector<int16_t> leads_;     // (n_trees, 2, 2, width), of wide trees: least and largest lead over each class
    std::vector<uint32_t> visits_;   // (n_trees, 2): nodes that may still be looked at
    std::vector<Way> ways_, next_ways_;
};

}  // namespace frugal
