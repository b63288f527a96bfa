"""The floors: what a step and an answer cost at least, without any of ours."""
