// Forests on the same features and one more, for many candidates for that one, grown together.
//
// All draw the same rows, and in every node the same features; the one that differs is drawn in few nodes, and wins in fewer.
// Until it wins, the trees of all candidates are one tree. Votes are those of trees grown one by one with seeds by path,
// the candidate last of the features.
#pragma once

#include "histogram.hpp"

namespace frugal {

template <class Accumulator, int K>
class CandidateGrower : HistogramGrower<GiniIndex, Accumulator, K> {
    using Base = HistogramGrower<GiniIndex, Accumulator, K>;
    using typename Base::Pending;

  public:
    // The first n_common features of the data belong to all forests, each of the others to one.
    CandidateGrower(const TrainingData& data, const RowMajorCodes& row_major, const GrowParams& params, const CostTable& costs,
                    const GiniIndex& gini, InstructionSet instruction_set, size_t n_common)
        : Base(data, row_major, params, costs, gini, instruction_set),
          n_common_(static_cast<uint32_t>(n_common)),
          all_(data.n_features - n_common) {
        std::iota(all_.begin(), all_.end(), 0u);
    }

    // Adds the votes of one tree of each forest for the rows it has not drawn.   votes: (n_candidates, n_rows, k)
    void vote(uint64_t seed, const std::vector<uint16_t>& draws, uint16_t* votes) {
        votes_ = votes;
        this->start_tree(seed, draws);
        Pending root = std::move(this->pending_.back());
        this->pending_.pop_back();
        outside_.clear();
        for (uint32_t row = 0; row < this->data_.n_rows; ++row)
            if (!draws[row]) outside_.push_back(row);
        grow(std::move(root), {0, static_cast<uint32_t>(outside_.size())}, all_);
    }

  private:
    using Candidates = std::vector<uint32_t>;

    // Places in outside_: rows that a node votes for.
    struct Range {
        uint32_t begin, end;
    };

    // Candidates whose trees go on in the same way.
    struct Part {
        Candidates candidates;
        bool has_split = false;
        Split split{};
    };

    // What the common features offer: to candidates that vary in the node, and to those that do not. The latter may need
    // to draw further features until one varies.
    struct Offers {
        Choice varying, constant;
        bool candidate_is_drawn = false, are_equal = true;
    };

    void grow(Pending node, Range outside, const Candidates& group) {
        if (outside.begin == outside.end) return;
        if (!node.is_local && node.end - node.begin <= kLocalRows) this->make_local(node);
        this->local_ = node.is_local;
        this->count_node(node);
        this->gains_.enter_node(this->raw_.data());
        const size_t label = this->label();
        if (this->is_leaf(node)) return cast(label, outside, group);
        if (group.size() == 1) return grow_one(std::move(node), outside, group, label);
        std::vector<Part> parts = divide(node, group);
        for (Part& part : parts)
            if (part.has_split && !part.split.categorical) this->settle_threshold(node, part.split);
        for (size_t i = 0; i < parts.size(); ++i) {
            if (!parts[i].has_split)
                cast(label, outside, parts[i].candidates);
            else if (i + 1 < parts.size())
                grow_copy(node, outside, parts[i]);
            else
                grow_children(std::move(node), outside, parts[i].split, parts[i].candidates);
        }
    }

    // A tree that is alone from here on.
    void grow_one(Pending node, Range outside, const Candidates& group, size_t label) {
        Offers offers = draw(node);
        const uint32_t f = n_common_ + group[0];
        const bool varies = offers.candidate_is_drawn && !node.constant.has(f) && this->search_feature(offers.varying, node, f);
        const Split* best = (varies ? offers.varying : offers.constant).result();
        if (!best) return cast(label, outside, group);
        Split split = *best;
        if (!split.categorical) this->settle_threshold(node, split);
        grow_children(std::move(node), outside, split, group);
    }

    size_t label() const {
        const double* counts = this->gains_.counts();
        return static_cast<size_t>(std::max_element(counts, counts + this->k_) - counts);
    }

    void cast(size_t label, Range outside, const Candidates& group) {
        const size_t n_rows = this->data_.n_rows, k = static_cast<size_t>(this->k_);
        for (const uint32_t candidate : group) {
            uint16_t* votes = votes_ + candidate * n_rows * k + label;
            for (uint32_t i = outside.begin; i < outside.end; ++i) ++votes[outside_[i] * k];
        }
    }

    // Which candidates go on by which split; the last part is the largest, as a rule.
    std::vector<Part> divide(Pending& node, const Candidates& group) {
        Offers offers = draw(node);
        std::vector<Part> parts;
        Part varying = part_of(offers.varying), constant = part_of(offers.constant);
        if (!offers.candidate_is_drawn) {
            constant.candidates = group;
        } else {
            for (const uint32_t candidate : group) {
                const uint32_t f = n_common_ + candidate;
                Choice choice = offers.varying;
                if (node.constant.has(f) || !this->search_feature(choice, node, f)) {
                    constant.candidates.push_back(candidate);
                } else if (const Split* best = choice.result(); best && best->feature == f) {
                    parts.push_back({{candidate}, true, *best});
                } else {
                    varying.candidates.push_back(candidate);
                }
            }
        }
        if (offers.are_equal) {
            constant.candidates.insert(constant.candidates.end(), varying.candidates.begin(), varying.candidates.end());
            varying.candidates.clear();
        }
        for (Part* part : {&constant, &varying})
            if (!part->candidates.empty()) parts.push_back(std::move(*part));
        return parts;
    }

    static Part part_of(const Choice& choice) {
        Part part;
        if (const Split* best = choice.result()) {
            part.has_split = true;
            part.split = *best;
        }
        return part;
    }

    // Draws features as search_sampled does; the place behind the common ones stands for the candidate.
    Offers draw(Pending& node) {
        const GrowParams& params = this->params_;
        const Choice none(params.objective, params.tradeoff, params.at_a_loss);
        Offers offers{none, none};
        const uint32_t m = n_common_ + 1;
        this->features_.resize(m);
        std::iota(this->features_.begin(), this->features_.end(), 0u);
        this->node_seed_ = node.path_seed;
        Stream stream(this->node_seed_);
        uint32_t searched = 0;
        for (uint32_t i = 0; i < m && !has_enough_features(params, i, searched); ++i) {
            if (offers.candidate_is_drawn && offers.are_equal && has_enough_features(params, i, searched + 1)) {
                offers.varying = offers.constant;
                offers.are_equal = false;
            }
            std::swap(this->features_[i], this->features_[i + stream.below(m - i)]);
            const uint32_t f = this->features_[i];
            if (f == n_common_)
                offers.candidate_is_drawn = true;
            else if (!node.constant.has(f))
                searched += this->search_feature(offers.constant, node, f);
        }
        if (offers.are_equal) offers.varying = offers.constant;
        return offers;
    }

    // Rows of the node again, behind all others, for a part that splits them in its own way.
    void grow_copy(const Pending& node, Range outside, const Part& part) {
        const auto n_items = static_cast<uint32_t>(this->items_.size()), n_outside = static_cast<uint32_t>(outside_.size());
        Pending copy{node.parent, node.is_right, node.is_local, n_items, n_items + (node.end - node.begin), node.depth, node.path_seed, node.constant, nullptr};
        append(this->items_, node.begin, node.end);
        append(outside_, outside.begin, outside.end);
        grow_children(std::move(copy), {n_outside, n_outside + (outside.end - outside.begin)}, part.split, part.candidates);
        this->items_.resize(n_items);
        outside_.resize(n_outside);
    }

    template <class T>
    static void append(std::vector<T>& values, uint32_t begin, uint32_t end) {
        const size_t n = values.size();
        values.resize(n + (end - begin));
        std::copy_n(values.begin() + begin, end - begin, values.begin() + static_cast<std::ptrdiff_t>(n));
    }

    void grow_children(Pending node, Range outside, const Split& split, const Candidates& group) {
        this->local_ = node.is_local;
        const uint32_t middle = this->partition(node, split), middle_outside = partition_outside(outside, split);
        Pending left = this->child_of(node, 0, false, node.begin, middle), right = this->child_of(node, 0, true, middle, node.end);
        grow(std::move(left), {outside.begin, middle_outside}, group);
        grow(std::move(right), {middle_outside, outside.end}, group);
    }

    uint32_t partition_outside(Range outside, const Split& split) {
        const uint8_t* codes = this->data_.column(split.feature);
        const auto first = outside_.begin() + outside.begin, last = outside_.begin() + outside.end;
        const auto middle = std::partition(first, last, [&](uint32_t row) { return this->goes_left(split, codes[row]); });
        return static_cast<uint32_t>(middle - outside_.begin());
    }

    uint32_t n_common_;
    Candidates all_;
    std::vector<uint32_t> outside_;  // rows that the tree has not drawn, as nodes divide them
    uint16_t* votes_ = nullptr;
};

}  // namespace frugal
