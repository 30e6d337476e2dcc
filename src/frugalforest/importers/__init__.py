"""Fitted tree ensembles of other libraries, read into an Ensemble."""
