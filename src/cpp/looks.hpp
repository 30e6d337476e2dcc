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
          reachable_(sets_ ? trees.n_trees : 0),
          is_stale_(trees.n_trees, 1),
          reads_(trees.n_trees, 0),
          ranges_(trees.is_narrow() ? 2 * trees.n_trees : 0),
          leads_(trees.is_narrow() ? 0 : 2 * trees.n_trees * width_ / 8),
          unseen_(trees.is_narrow() ? 0 : width_ / 8),
          visits_(2 * trees.n_trees),
          matters_(trees.is_narrow() && trees.n_channels > 1 ? trees.n_channels : 0),
          n_taken_(sets_ ? trees.n_channels : 0, kNone) {}

    // Forgets everything: another row begins.
    void restart(int32_t leader) {
        leader_ = leader;
        has_looked_ = false;
        std::fill(is_stale_.begin(), is_stale_.end(), 1);
        taken_.clear();
        std::fill(n_taken_.begin(), n_taken_.end(), kNone);
    }

    // Whether a tree adds to the leader or to a rival that is looked for; others change no lead.
    template <class Form>
    bool matters(int32_t t) const {
        return Form::shape != Shape::narrow || matters_[static_cast<size_t>(trees_->channel_of(static_cast<size_t>(t)))];
    }
    bool is_stale(int32_t t) const { return sets_ || is_stale_[static_cast<size_t>(t)]; }
    void forget(int32_t t) { is_stale_[static_cast<size_t>(t)] = 1; }

    // The leads of wide trees were those of the leader, and only over rivals that were open.
    void lead_by(int32_t leader) {
        leader_ = leader;
        if (!trees_->is_narrow()) std::fill(is_stale_.begin(), is_stale_.end(), 1);
    }

    // Trees are looked at for these rivals only, until another one leads.
    void look_for(const std::vector<size_t>& open) {
        if (!matters_.empty()) {
            std::fill(matters_.begin(), matters_.end(), 0);
            for (const size_t slot : open) matters_[slot] = 1;
            matters_[static_cast<size_t>(leader_)] = 1;
        }
        if (trees_->is_narrow()) return;
        constexpr int16_t kBeyond = std::numeric_limits<int16_t>::max();  // of every lead: of others nothing new can be seen
        std::fill(unseen_.begin(), unseen_.end(), Leads8{eight_of(-kBeyond), eight_of(kBeyond)});
        for (const size_t slot : open) {
            unseen_[slot / 8].least[slot % 8] = kBeyond;
            unseen_[slot / 8].largest[slot % 8] = -kBeyond;
        }
    }

    // A feature became known: what was found in trees that could still read it is not the best any more.
    void take(int32_t f) {
        if (sets_) return taken_.push_back(f);
        if (!has_looked_) return;
        const uint64_t bit = Reachable::bit(f);
        for (size_t t = 0; t < is_stale_.size(); ++t) is_stale_[t] |= (reads_[t] & bit) != 0;
    }

    // Looks below the cursors of some trees, side by side, a step each, so that they wait for memory together.
    void look(const Knowledge& knowledge, const int32_t* trees, size_t n, const std::vector<int32_t>& cursor) {
        if (sets_) narrow_sets(knowledge);
        has_looked_ = true;
        if (sets_) return look_by_sets(trees, n, cursor);
        going_.resize(std::max(going_.size(), 2 * n));
        Way* end = going_.data();
        for (size_t a = 0; a < n; ++a) end = start(trees[a], cursor[static_cast<size_t>(trees[a])], end);
        const auto n_going = static_cast<size_t>(end - going_.data());
        trees_->with_size([&](auto is_small) {
            if (most_visits_ == 0) return take_whole<is_small>(n_going);
            knowledge.is_plain() ? follow<is_small, true>(knowledge, n_going) : follow<is_small, false>(knowledge, n_going);
        });
    }

    // What the tree adds to the lead over a rival in its left (0) or right (1) child. OUT is valid after a look.
    template <class Form>
    Lead below(int32_t t, size_t side, size_t slot) const {
        const size_t place = 2 * static_cast<size_t>(t) + side;
        if constexpr (Form::shape != Shape::wide) return narrow_lead<Form>(t, slot, ranges_[place].low, ranges_[place].high);
        const Leads8& leads = leads_[(place * width_ + slot) / 8];
        return {leads.least[slot % 8], leads.largest[slot % 8]};
    }

    // The same over all leaves below a node, whatever is known.
    template <class Form>
    Lead whole(int32_t t, int32_t i, size_t slot) const {
        if constexpr (Form::shape != Shape::wide) {
            const Reachable::Range range = trees_->range<Form::is_small>(i);
            return narrow_lead<Form>(t, slot, range.low, range.high);
        }
        const auto leader = static_cast<size_t>(leader_);
        const auto steps = [&](size_t place) { return trees_->steps<Form::is_small>(i, place); };
        return {steps(leader) - steps(width_ + slot), steps(width_ + leader) - steps(slot)};
    }

  private:
    static constexpr size_t kNone = std::numeric_limits<size_t>::max();
    static constexpr uint32_t kEnoughVisits = 64;  // a policy that allows so many may as well see small trees as a whole

    struct Leads8 {
        Eight least, largest;
    };
    struct Way {
        int32_t node;
        int32_t place;  // 2 * tree + side
    };
    template <class Form>
    Lead narrow_lead(int32_t t, size_t slot, int32_t low, int32_t high) const {
        if constexpr (Form::shape == Shape::single) return leader_ == 1 ? Lead{low, high} : Lead{-high, -low};
        const int32_t channel = trees_->channel_of(static_cast<size_t>(t));
        if (channel == leader_) return {low, high};
        return channel == static_cast<int32_t>(slot) ? Lead{-high, -low} : Lead{0, 0};
    }

    // Catches up with what was bought since a channel was last looked at: many features at once are faster, and most rows are
    // looked at late.
    void narrow_sets(const Knowledge& knowledge) {
        for (size_t channel = 0; channel < n_taken_.size(); ++channel) {
            if (!matters_.empty() && !matters_[channel]) continue;
            size_t& n_taken = n_taken_[channel];
            if (n_taken == kNone) {
                sets_->start(channel, reachable_.data());
                n_taken = 0;
            }
            sets_->narrow(knowledge, taken_.data() + n_taken, taken_.size() - n_taken, channel, reachable_.data());
            n_taken = taken_.size();
        }
    }

    void look_by_sets(const int32_t* trees, size_t n, const std::vector<int32_t>& cursor) {
        for (size_t a = 0; a < n; ++a) {
            const auto t = static_cast<size_t>(trees[a]);
            const uint64_t reachable = reachable_[sets_->place_of(trees[a])], left = reachable & sets_->left_of(cursor[t]);
            ranges_[2 * t] = sets_->extremes(t, left);
            ranges_[2 * t + 1] = sets_->extremes(t, reachable & ~left);
        }
    }

    // Writes the ways into both children to `end` -> the new end
    Way* start(int32_t t, int32_t cursor, Way* end) {
        is_stale_[static_cast<size_t>(t)] = 0;
        reads_[static_cast<size_t>(t)] = 0;
        const int32_t children[2] = {cursor + 1, trees_->node(cursor).right};
        for (int32_t side = 0; side < 2; ++side) {
            const int32_t place = 2 * t + side;
            visits_[static_cast<size_t>(place)] = most_visits_;
            clear(static_cast<size_t>(place));
            *end++ = {children[side], place};
            trees_->prefetch_node(children[side]);
        }
        return end;
    }

    // Bounds that do not care for what is known: all that is below the beginning of each way.
    template <bool is_small>
    void take_whole(size_t n_ways) {
        for (size_t a = 0; a < n_ways; ++a) {
            const auto place = static_cast<size_t>(going_[a].place);
            reads_[place / 2] |= trees_->below(going_[a].node);
            widen<is_small>(place, going_[a].node);
        }
    }

    // Moves ways side by side, a step each, to the nodes that what is known does not decide, and on from there into both children.
    // Which of the ways end with a step could only be guessed: each is written to both lists, and counts in one.
    template <bool is_small, bool is_plain>
    void follow(const Knowledge& knowledge, size_t n_going) {
        for (size_t n_undecided = 0; n_going + n_undecided > 0;) {
            going_.resize(std::max(going_.size(), n_going + 2 * n_undecided));
            arriving_.resize(std::max(arriving_.size(), n_going));
            Way *going = going_.data(), *arriving = arriving_.data();
            size_t n_left = 0, n_arriving = 0;
            for (size_t a = 0; a < n_going; ++a) {
                Way way = going[a];
                const bool goes_on = is_plain ? knowledge.step(way.node) : knowledge.step_anyhow(way.node);
                trees_->prefetch(way.node, goes_on);
                going[n_left] = arriving[n_arriving] = way;
                n_left += goes_on;
                n_arriving += !goes_on;
            }
            Way* end = going + n_left;
            for (size_t a = 0; a < n_undecided; ++a) end = fork<is_small>(knowledge, undecided_[a], end);
            n_going = static_cast<size_t>(end - going);
            n_undecided = n_arriving;
            undecided_.swap(arriving_);  // asked about in the next turn, when they have come from memory
        }
    }

    // Writes the ways into both children of a node that is not decided to `end`, if they can tell anything new -> the new end
    template <bool is_small>
    Way* fork(const Knowledge& knowledge, const Way& way, Way* end) {
        const auto place = static_cast<size_t>(way.place);
        const uint64_t below = trees_->below(way.node);
        uint64_t& reads = reads_[place / 2];
        // A leaf, a subtree of which nothing is known, or one too many: what the subtree holds at all is a bound too.
        if (!(below & knowledge.bits()) || visits_[place] == 0) {
            reads |= below;
            widen<is_small>(place, way.node);
            return end;
        }
        --visits_[place];
        if (!can_widen<is_small>(place, way.node)) return end;
        const Reachable::Node& node = trees_->node(way.node);
        reads |= Reachable::bit(node.feature);
        for (const int32_t child : {way.node + 1, node.right}) {
            *end++ = {child, way.place};
            trees_->prefetch_node(child);
        }
        return end;
    }

    // ---- what was found, by 2 * tree + side

    void clear(size_t place) {
        if (trees_->is_narrow()) {
            ranges_[place] = {std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()};
            return;
        }
        std::copy(unseen_.begin(), unseen_.end(), leads_.begin() + static_cast<std::ptrdiff_t>(place * width_ / 8));
    }

    template <bool is_small>
    void widen(size_t place, int32_t i) {
        if (trees_->is_narrow()) {
            LeafSets::Extremes& found = ranges_[place];
            const Reachable::Range range = trees_->range<is_small>(i);
            found.low = std::min(found.low, range.low);
            found.high = std::max(found.high, range.high);
            return;
        }
        for (size_t first = 0; first < width_; first += 8) {
            const Leads8 leads = leads_over<is_small>(i, first);
            Leads8& found = leads_[(place * width_ + first) / 8];
            found.least = min(found.least, leads.least);
            found.largest = max(found.largest, leads.largest);
        }
    }

    // Whether a leaf below the node could be beyond what was found already.
    template <bool is_small>
    bool can_widen(size_t place, int32_t i) const {
        if (trees_->is_narrow()) {
            const Reachable::Range range = trees_->range<is_small>(i);
            return (range.low < ranges_[place].low) | (range.high > ranges_[place].high);
        }
        for (size_t first = 0; first < width_; first += 8) {
            const Leads8 leads = leads_over<is_small>(i, first);
            const Leads8& found = leads_[(place * width_ + first) / 8];
            if (any((leads.least < found.least) | (leads.largest > found.largest))) return true;
        }
        return false;
    }

    // Leads over eight classes below a node of a wide tree.
    template <bool is_small>
    Leads8 leads_over(int32_t i, size_t first) const {
        const Eight low = trees_->eight<is_small>(i, first), high = trees_->eight<is_small>(i, width_ + first);
        const auto leader = static_cast<size_t>(leader_);
        return {eight_of(trees_->steps<is_small>(i, leader)) - high, eight_of(trees_->steps<is_small>(i, width_ + leader)) - low};
    }

    const Reachable* trees_;
    const LeafSets* sets_;
    size_t width_;
    uint32_t most_visits_;
    int32_t leader_ = 0;
    bool has_looked_ = false;
    std::vector<uint64_t> reachable_;  // (n_trees), by place: leaves, if there are sets of them
    std::vector<uint8_t> is_stale_;  // (n_trees): something is known below the cursor that was not when it was looked at
    std::vector<uint64_t> reads_;    // (n_trees): features that the part seen by the last look can still read, as bits
    std::vector<LeafSets::Extremes> ranges_;   // (n_trees, 2), of narrow trees
    std::vector<Leads8> leads_;      // (n_trees, 2, width / 8), of wide trees: least and largest lead over each class
    std::vector<Leads8> unseen_;     // (width / 8): what they are before anything is seen
    std::vector<uint32_t> visits_;   // (n_trees, 2): undecided nodes that may still be looked below
    std::vector<uint8_t> matters_;   // (n_channels): the leader and those that are looked for; empty: all do
    std::vector<int32_t> taken_;     // features that became known, if there are sets
    std::vector<size_t> n_taken_;    // (n_channels): how many of them reachable_ knows of; kNone: it holds another row
    std::vector<Way> going_, undecided_, arriving_;
};

}  // namespace frugal
