// The Python module `frugalforest._core`: arrays in, arrays out. Each file binds its own functions.
#include "bindings.hpp"

NB_MODULE(_core, m) {
    m.doc() = "Compiled core of frugalforest";
    frugal::bind_binning(m);
    frugal::bind_growing(m);
    frugal::bind_routing(m);
    frugal::bind_acquisition(m);
}
