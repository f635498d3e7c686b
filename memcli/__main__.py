"""Run memcli as `python -m memcli`."""

from memcli.cli.main import run

if __name__ == "__main__":
    run()
