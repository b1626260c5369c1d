"""The stages, one file a verb, how they run, and the files that pass between them.

A stage function (`CleanPairs`, `CountWords`, `EncodePairs`) takes a block and returns a report. It
is free of Beam and picklable. `stage` runs it over blocks, `beam_pipeline` on an engine.

What a stage writes is named by the block and depends on the block alone, so any number of workers
in any order leaves the same bytes. Files in the staging folder, `OUTPUT_DIR/.staging`; those of a
run are in a folder named by the digest of its configuration and inputs:

| file | content | written by | read by |
|---|---|---|---|
| raw/SPLIT-*.txt | text cut from unseekable inputs | corpora.blocks | CleanPairs, holdout |
| RUN/key.json | all that decides the result | build.staging | build.staging |
| RUN/pairs/BLOCK.tsv | clean pairs | CleanPairs, holdout | later stages, holdout, driver |
| RUN/pairs/BLOCK.keys | 8 bytes a clean pair | CleanPairs | cleaning.deduplication |
| RUN/pairs/BLOCK.repeats | a byte a clean pair: 1 repeats | cleaning.deduplication | later stages |
| RUN/pairs/BLOCK.candidates | smallest sentence keys and rows | CleanPairs | holdout |
| RUN/counts/BLOCK.SIDE.tsv | words and counts of a group of blocks | CountWords | driver |
| RUN/pairs/BLOCK.json | `CleanReport` | stage | stage |
| RUN/counts/BLOCK.json | `CountReport` | stage | stage |
| RUN/encoded/BLOCK.json | `EncodeReport` | stage | stage |
| RUN/*/BLOCK.error | message of a `UserError` | stage | stage |
| RUN/final/… | shards, subwords, texts, manifest | EncodePairs, build | trainer |

A report is written after all other files of its block: it marks the block as finished.
"""
