"""Who you are, what your groups may do, and what was done."""
