"""The paper's tables, to compare with what this code counts and measures."""
