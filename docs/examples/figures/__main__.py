"""``python -m figures FOLDER``, which ``make figures`` calls: draws every figure of the papers.

It exits with 1 if one is not as published.
"""

import sys
from pathlib import Path

from figures.gallery import FOLDER, make_gallery

if __name__ == "__main__":
    sys.exit(1 if make_gallery(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER, print) else 0)
