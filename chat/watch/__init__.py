"""The page of models, live: one look at the engines for all who have it open."""
