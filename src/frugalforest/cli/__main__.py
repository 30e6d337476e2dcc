"""`python -m frugalforest.cli` is the `frugalforest` command."""

from frugalforest.cli import main

main()
