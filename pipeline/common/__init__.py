"""Shared by every command: errors, flags, files, progress."""
