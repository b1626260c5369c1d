"""The paper's tables beside what this code counts and measures."""
