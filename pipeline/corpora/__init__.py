"""Where sentence pairs come from: files, archives, downloads, the built-in corpus."""
