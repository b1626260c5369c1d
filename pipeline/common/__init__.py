"""Shared by all commands: settings, flags, errors, files, progress, tables."""
