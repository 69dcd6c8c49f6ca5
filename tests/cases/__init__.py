"""The case runner: machine states as data. FORMAT.md is the contract, run.py the program."""
