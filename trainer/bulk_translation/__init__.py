"""Translating large files: blocks of lines, locally or as an Apache Beam job."""
