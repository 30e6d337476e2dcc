"""One self-contained page of HTML about a fitted model."""
