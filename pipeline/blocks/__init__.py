"""What is done with blocks of pairs: functions free of Beam; `pipeline.stages` applies them.

What a function writes is named by its block and depends on the block and its arguments alone, so
any number of workers in any order leaves the same bytes. `pipeline.stages` lists the files.
"""
