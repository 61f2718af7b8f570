"""The specs; a package so that `python3 -m unittest discover` in code/ finds them too."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
