"""The stages: Beam transforms, one file a verb, how they run, and the files that pass between them.

`MakeDataset` is the whole; each verb can be used alone. A transform applies functions of
`pipeline.blocks`, which are free of Beam: to every block, or once to what is known of all blocks.

Text stays in files, because Python costs microseconds per element, and Beam's in-process runner
holds every shuffle in memory. What crosses a shuffle is a block's address, a report, or a packed
count. What a transform writes is named by the block and depends on the block alone, so any number
of workers in any order leaves the same bytes. Files in the staging folder, `OUTPUT_DIR/.staging`;
those of a run are in a folder named by the digest of its configuration:

| file | content | written by | read by |
|---|---|---|---|
| raw/SPLIT-INPUT-*.txt | text cut from unseekable inputs | ReadBlocks | CleanPairs, HoldOut |
| raw/SPLIT-INPUT.json | blocks of an input that no worker can read | build.driver | ReadBlocks |
| RUN/key.json | configuration, names of inputs | build.staging | build.staging |
| RUN/inputs.json | checksums of the inputs; work of others is deleted | ReadBlocks | ReadBlocks |
| RUN/status.json | lines and blocks of each split | ReadBlocks | build.follow |
| RUN/pairs/BLOCK.tsv | clean pairs | CleanPairs, HoldOut | all later stages |
| RUN/pairs/BLOCK.keys | 12 bytes a clean pair: key and row, by key | CleanPairs | MarkDuplicates |
| RUN/pairs/RANGE.repeats | rows that repeat a pair | MarkDuplicates | CountWords, EncodePairs |
| RUN/pairs/BLOCK.candidates | smallest sentence keys, places | CleanPairs | HoldOut |
| RUN/heldout.tsv | sentences and pairs held out of training | HoldOut | CountWords, EncodePairs |
| RUN/counts/GROUP.SIDE.counts | words of a group of blocks, by hash | CountWords | CountWords |
| RUN/counts/SIDES-RANGE.tsv | words of one range of hashes | CountWords | LearnSubwords |
| RUN/done/VERB/BLOCK.json | report of a block or group | VERB | VERB, build.follow |
| RUN/final/… | shards, subwords, texts, manifest | HoldOut and later stages | build.staging |
| RUN/stop.json | a user's mistake, in place of a manifest | WriteManifest | build.driver |

A report is written after all other files of its block: it marks the block as finished.
"""
