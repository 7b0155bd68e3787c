"""Processes for what happens to processes. They are forked from one that has imported everything already."""

import multiprocessing
import os
import sys

LOADED = ["biosfa.cli", "biosfa.recordings.run", "biosfa.experiments.chaotic", "hypothesis", "pandas", "pytest"]


def forked(function, *arguments):
    """A process that runs a function of a module. It starts at once: it needs no second of imports for itself."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    process = context.Process(target=function, args=arguments)
    process.start()
    return process


def command_in(folder, arguments):
    """Run the command in this process, and end it."""
    from biosfa.cli import main

    os.chdir(folder)
    sys.argv = ["biosfa", *arguments]
    main()
